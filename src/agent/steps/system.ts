// Trust, clock, kernel, and limits of the operating system.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { limitNames } from '../../domain/recipe/installer-names.ts';
import {
  generatedHeader,
  hasUnit,
  ownHost,
  runtimeUnit,
  type Step,
  type StepContext,
  sorted,
} from '../desired/step.ts';
import { swapUnit, swapUnitText } from '../system/swap.ts';

const timesync = 'systemd-timesyncd.service';

/** Includes a runtime that a later step installs: otherwise another run would find something to change. */
function runtimeRestarts({ system, config }: StepContext) {
  const comes = (config.hotfixes ?? []).some(
    ({ component, kind }) => kind === 'package' && `${component}.service` === runtimeUnit,
  );
  return comes || hasUnit(system, runtimeUnit) ? ([`restart:${runtimeUnit}`] as const) : [];
}

export const trustStep: Step = {
  name: 'trust',
  async run(context) {
    const restarts = runtimeRestarts(context);
    const host = ownHost(context, 'trust', 'trust', ...restarts);
    for (const { name, certificate } of context.config.trust ?? []) {
      const text = certificate.endsWith('\n') ? certificate : `${certificate}\n`;
      await host.writeText(`/usr/local/share/ca-certificates/imago-${name}.crt`, text);
    }
  },
};

export const timeStep: Step = {
  name: 'time',
  async run(context) {
    const { zone, servers = [] } = context.config.time ?? {};
    if (zone !== undefined) {
      if (context.system.facts(`/usr/share/zoneinfo/${zone}`) === undefined) {
        throw new ImagoError('node-config-invalid', `time.zone: the image has no time zone ${zone}.`);
      }
      const host = ownHost(context, 'time');
      await host.link('/etc/localtime', `../usr/share/zoneinfo/${zone}`);
      await host.writeText('/etc/timezone', `${zone}\n`);
    }
    if (servers.length === 0) return;
    const host = ownHost(context, 'time', `restart:${timesync}`);
    await host.writeText(
      '/etc/systemd/timesyncd.conf.d/imago-node.conf',
      `${generatedHeader}[Time]\nNTP=${servers.join(' ')}\n`,
    );
  },
};

/** Kernel arguments are sealed into the image: the agent can only check them. */
function requireKernelArguments({ system }: StepContext, wanted: readonly string[]): void {
  const given = new Set((system.readText('/proc/cmdline') ?? '').split(/\s+/));
  const missing = wanted.filter((word) => !given.has(word));
  if (missing.length === 0) return;
  throw new ImagoError(
    'node-config-requires',
    `The kernel of this image is not started with ${missing.join(' ')}.`,
    { hint: 'Add it to `settings.kernelArguments` of the recipe, and create the node from that version.' },
  );
}

export const kernelStep: Step = {
  name: 'kernel',
  async run(context) {
    const { sysctl = {}, modules = [], limits = {}, kernelArguments = [] } = context.config.system ?? {};
    requireKernelArguments(context, kernelArguments);
    if (modules.length > 0) {
      const text = modules.map(({ name }) => `${name}\n`).join('');
      await ownHost(context, 'kernel', 'modules').writeText(
        '/etc/modules-load.d/imago-node.conf',
        generatedHeader + text,
      );
      for (const { name } of modules) context.services.modules.add(name);
    }
    const options = modules.flatMap(({ name, options: text }) =>
      text === undefined ? [] : [`options ${name} ${text}\n`],
    );
    if (options.length > 0) {
      await ownHost(context, 'kernel').writeText(
        '/etc/modprobe.d/imago-node.conf',
        generatedHeader + options.join(''),
      );
    }
    const parameters = sorted(sysctl);
    if (parameters.length > 0) {
      const text = parameters.map(([name, value]) => `${name} = ${value}\n`).join('');
      await ownHost(context, 'kernel', 'sysctl').writeText(
        '/etc/sysctl.d/95-imago-node.conf',
        generatedHeader + text,
      );
      for (const [name, value] of parameters)
        context.services.kernelValues.set(sysctlPath(name), String(value));
    }
    await setHugepages(context);
    await setSwap(context);
    await setLimits(context, limits);
  },
};

/** `net.ipv4.conf.eth0/1.forwarding` is the file net/ipv4/conf/eth0.1/forwarding. */
export function sysctlPath(name: string): string {
  const slashFirst = /^[^./]*\//.test(name);
  const path = slashFirst ? name : name.replace(/[./]/g, (sign) => (sign === '.' ? '/' : '.'));
  return `/proc/sys/${path}`;
}

async function setHugepages(context: StepContext): Promise<void> {
  const { transparentHugepages: use, transparentHugepagesDefrag: defrag } = context.config.system ?? {};
  const folder = '/sys/kernel/mm/transparent_hugepage';
  const values = [
    ...(use === undefined ? [] : [[`${folder}/enabled`, use] as const]),
    ...(defrag === undefined ? [] : [[`${folder}/defrag`, defrag] as const]),
  ];
  if (values.length === 0) return;
  const text = values.map(([path, value]) => `w ${path} - - - - ${value}\n`).join('');
  await ownHost(context, 'kernel', 'sysctl').writeText(
    '/etc/tmpfiles.d/imago-node.conf',
    generatedHeader + text,
  );
  for (const [path, value] of values) context.services.kernelValues.set(path, value);
}

/** The unit is stopped for a change: another size needs another file. */
async function setSwap(context: StepContext): Promise<void> {
  const { swapMiB = 0 } = context.config.system ?? {};
  if (swapMiB === 0) return;
  const host = ownHost(context, 'kernel', 'units', `stop:${swapUnit}`);
  await host.writeText(`/etc/systemd/system/${swapUnit}`, generatedHeader + swapUnitText(swapMiB));
  context.services.swapMiB = swapMiB;
  context.services.start.add(swapUnit);
}

async function setLimits(
  context: StepContext,
  limits: Readonly<Record<string, string | number>>,
): Promise<void> {
  const entries = sorted(limits);
  if (entries.length === 0) return;
  const services = entries.map(([name, value]) => `DefaultLimit${limitNames[name] ?? ''}=${value}\n`);
  const logins = entries.flatMap(([name, value]) => {
    const shown = value === 'infinity' ? 'unlimited' : value;
    return [`* - ${name} ${shown}\n`, `root - ${name} ${shown}\n`];
  });
  const restarts = runtimeRestarts(context);
  const host = ownHost(context, 'kernel', 'limits', ...restarts);
  await host.writeText(
    '/etc/systemd/system.conf.d/imago-node.conf',
    `${generatedHeader}[Manager]\n${services.join('')}`,
  );
  await ownHost(context, 'kernel').writeText(
    '/etc/security/limits.d/95-imago-node.conf',
    generatedHeader + logins.join(''),
  );
}
