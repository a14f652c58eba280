// Writes the settings of a recipe to a system: sysctl, modules, units, users, files, limits and time. Everything
// is a file or a link, so that the same settings always give the same system. Kernel arguments belong to the
// boot loader, and trust anchors to the package that manages them.
import { ImagoError } from '../domain/error/imago-error.ts';
import { limitNames } from '../domain/recipe/installer-names.ts';
import type { RecipeSettings, UnitSetting } from '../domain/recipe/recipe.ts';
import { didYouMean } from '../domain/value/suggest.ts';
import { addUsers } from './add-users.ts';
import { disableUnit, enableUnit, findUnit, unitFolder } from './enable-unit.ts';
import type { Host } from './host.ts';

export interface SettingsTexts {
  /** Of a unit or file that the settings name by its file. */
  text(item: { readonly content?: string; readonly file?: string }): Promise<string>;
}

const made = '# Made by Imago.\n';

/** Throws `recipe-invalid` when the settings speak of a unit or a time zone that the system does not have. */
export async function applySettings(
  host: Host,
  settings: RecipeSettings,
  texts: SettingsTexts,
): Promise<void> {
  await applyKernel(host, settings);
  await applyLimits(host, settings);
  await applyTime(host, settings);
  const numbers = await addUsers(host, settings.users ?? []);
  for (const file of settings.files ?? []) {
    const { path, mode, owner } = file;
    const ids = owner === undefined ? {} : numbers.find(owner);
    await host.writeText(path, await texts.text(file), {
      ...(mode && { mode: Number.parseInt(mode, 8) }),
      ...ids,
    });
  }
  for (const unit of settings.units ?? []) await applyUnit(host, unit, texts);
}

async function applyKernel(host: Host, { sysctl, modules }: RecipeSettings): Promise<void> {
  if (sysctl !== undefined) {
    const lines = Object.entries(sysctl)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name} = ${value}\n`);
    await host.writeText('/etc/sysctl.d/90-imago.conf', made + lines.join(''));
  }
  if (modules === undefined) return;
  await host.writeText(
    '/etc/modules-load.d/imago.conf',
    made + modules.map(({ name }) => `${name}\n`).join(''),
  );
  const options = modules.filter((module) => module.options !== undefined);
  if (options.length === 0) return;
  const lines = options.map((module) => `options ${module.name} ${module.options}\n`);
  await host.writeText('/etc/modprobe.d/imago.conf', made + lines.join(''));
}

async function applyLimits(host: Host, { limits }: RecipeSettings): Promise<void> {
  if (limits === undefined) return;
  const entries = Object.entries(limits).sort(([a], [b]) => (a < b ? -1 : 1));
  const services = entries.map(([name, value]) => `DefaultLimit${limitNames[name] ?? ''}=${value}\n`);
  const logins = entries.flatMap(([name, value]) => {
    const shown = value === 'infinity' ? 'unlimited' : value;
    return [`* - ${name} ${shown}\n`, `root - ${name} ${shown}\n`];
  });
  await host.writeText('/etc/systemd/system.conf.d/imago.conf', `${made}[Manager]\n${services.join('')}`);
  await host.writeText('/etc/security/limits.d/90-imago.conf', made + logins.join(''));
}

async function applyTime(host: Host, { time }: RecipeSettings): Promise<void> {
  if (time?.zone !== undefined) {
    await requireZone(host, time.zone);
    await host.link('/etc/localtime', `../usr/share/zoneinfo/${time.zone}`);
    await host.writeText('/etc/timezone', `${time.zone}\n`);
  }
  if (time?.servers === undefined) return;
  const text = `${made}[Time]\nNTP=${time.servers.join(' ')}\n`;
  await host.writeText('/etc/systemd/timesyncd.conf.d/imago.conf', text);
}

const zones = '/usr/share/zoneinfo';

/** Beside the zones there are folders of them and lists: only a zone begins with this mark. */
async function requireZone(host: Host, zone: string): Promise<void> {
  if ((await host.readText(`${zones}/${zone}`))?.startsWith('TZif') === true) return;
  const at = zone.lastIndexOf('/') + 1;
  const beside = await host.list(`${zones}/${zone.slice(0, at)}`.replace(/\/$/, ''));
  const hint =
    (await host.list(zones)).length === 0
      ? 'Add the package tzdata, which brings the time zones.'
      : didYouMean(
          zone,
          beside.map((name) => zone.slice(0, at) + name).filter((name) => name !== zone),
        );
  throw new ImagoError('recipe-invalid', `settings.time.zone: the system knows no time zone ${zone}.`, {
    ...(hint === undefined ? {} : { hint }),
  });
}

async function applyUnit(host: Host, unit: UnitSetting, texts: SettingsTexts): Promise<void> {
  const { name, state } = unit;
  const path = `${unitFolder}/${name}`;
  if (state === 'masked') {
    await disableUnit(host, name);
    return host.link(path, '/dev/null');
  }
  if (unit.content !== undefined || unit.file !== undefined)
    await host.writeText(path, await texts.text(unit));
  if (unit.dropIn !== undefined) await host.writeText(`${path}.d/50-imago.conf`, made + unit.dropIn);
  if (state === undefined) return;
  const found = await findUnit(host, name);
  if (found === undefined) {
    throw new ImagoError('recipe-invalid', `settings.units: the system has no unit ${name}.`, {
      hint: 'Add the package that brings it, or give its content.',
    });
  }
  if (state === 'disabled') return disableUnit(host, name);
  await enableUnit(host, name, found.text, found.place);
}
