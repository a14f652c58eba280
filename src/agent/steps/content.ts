// Users, files, and units of the config.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { addUsers } from '../../install/add-users.ts';
import { disableUnit, enableUnit, findUnit, unitFolder } from '../../install/enable-unit.ts';
import { lockUsers } from '../../install/lock-users.ts';
import type { Effect } from '../desired/change.ts';
import { generatedHeader, ownHost, type Step } from '../desired/step.ts';

export const usersStep: Step = {
  name: 'users',
  async run({ config, desired, managed }) {
    const users = config.users ?? [];
    const shared = desired.scope({ step: 'users' });
    const gone = managed.users.filter((name) => !users.some((user) => user.name === name));
    await lockUsers(shared, gone);
    await addUsers(
      shared,
      users.map(({ sudo, ...user }) => ({ ...user, shell: user.shell ?? '/bin/sh' })),
    );
    const own = desired.scope({ step: 'users', owner: 'users' });
    for (const { name, sudo } of users) {
      if (sudo !== true) continue;
      await own.writeText(`/etc/sudoers.d/imago-${name}`, `${name} ALL=(ALL:ALL) NOPASSWD: ALL\n`, {
        mode: 0o440,
      });
    }
    desired.keepUsers([...new Set([...managed.users, ...users.map(({ name }) => name)])]);
  },
};

export const filesStep: Step = {
  name: 'files',
  async run(context) {
    const { config, desired } = context;
    const numbers = await addUsers(desired.scope({ step: 'files' }), []);
    for (const { path, content, mode = '0644', owner = 'root:root', restarts = [] } of config.files ?? []) {
      const effects = restarts.map((unit): Effect => `restart:${unit}`);
      const ids = owner === 'root:root' ? {} : numbers.find(owner);
      await ownHost(context, 'files', ...effects).writeText(path, content, {
        mode: Number.parseInt(mode, 8),
        ...ids,
      });
    }
  },
};

export const unitsStep: Step = {
  name: 'units',
  async run(context) {
    for (const { name, state, content, dropIn } of context.config.units ?? []) {
      const host = ownHost(context, 'units', 'units', `restart:${name}`);
      const links = ownHost(context, 'units', 'units');
      const path = `${unitFolder}/${name}`;
      if (state === 'masked') {
        await disableUnit(links, name);
        await links.link(path, '/dev/null');
        context.services.stop.add(name);
        continue;
      }
      if (content !== undefined) await host.writeText(path, content);
      if (dropIn !== undefined)
        await host.writeText(`${path}.d/50-imago-node.conf`, generatedHeader + dropIn);
      if (state === undefined) continue;
      const found = await findUnit(host, name);
      if (found === undefined) {
        throw new ImagoError('node-config-invalid', `units: the image has no unit ${name}.`, {
          hint: 'Set its content, or use an image that contains it.',
        });
      }
      if (state === 'enabled') {
        await enableUnit(links, name, found.text, found.place);
        context.services.start.add(name);
      } else {
        await disableUnit(links, name);
        context.services.stop.add(name);
      }
    }
  },
};
