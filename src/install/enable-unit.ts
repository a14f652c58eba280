// Enabling a systemd unit without systemd: the links that its [Install] section asks for.
import type { Host } from './host.ts';

export const unitFolder = '/etc/systemd/system';
/** Where packages put theirs. */
export const packageUnits = '/usr/lib/systemd/system';

interface InstallSection {
  readonly wantedBy: readonly string[];
  readonly requiredBy: readonly string[];
  readonly alias: readonly string[];
}

export async function enableUnit(host: Host, name: string, text: string, place = unitFolder): Promise<void> {
  const install = installSection(text);
  const path = `${place}/${name}`;
  for (const target of install.wantedBy) await host.link(`${unitFolder}/${target}.wants/${name}`, path);
  for (const target of install.requiredBy) await host.link(`${unitFolder}/${target}.requires/${name}`, path);
  for (const alias of install.alias) if (alias !== name) await host.link(`${unitFolder}/${alias}`, path);
}

/** Removes every link that starts the unit, wherever an enable put it. */
export async function disableUnit(host: Host, name: string): Promise<void> {
  for (const folder of await host.list(unitFolder)) {
    const path = `${unitFolder}/${folder}`;
    if (/\.(?:wants|requires)$/.test(folder)) {
      if (!(await host.list(path)).includes(name)) continue;
      // A link to nothing removes the unit from a target as well.
      if ((await host.readLink(`${path}/${name}`)) !== '/dev/null') await host.remove(`${path}/${name}`);
    } else if ((await host.readLink(path))?.endsWith(`/${name}`) === true) await host.remove(path);
  }
}

export interface FoundUnit {
  readonly text: string;
  /** The directory that contains it. */
  readonly place: string;
}

/** A unit's own file; for `getty@tty1.service` that of its template. */
export async function findUnit(host: Host, name: string): Promise<FoundUnit | undefined> {
  const template = name.replace(/@[^.]*\./, '@.');
  for (const place of [unitFolder, packageUnits]) {
    for (const candidate of new Set([name, template])) {
      const text = await host.readText(`${place}/${candidate}`);
      if (text !== undefined) return { text, place };
    }
  }
  return undefined;
}

export function installSection(text: string): InstallSection {
  const found = new Map<string, string[]>();
  let section = '';
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    const head = /^\[(.+)\]$/.exec(line);
    if (head !== null) section = head[1] ?? '';
    if (section !== 'Install' || head !== null) continue;
    const [, key, value] = /^([A-Za-z]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key === undefined) continue;
    const words = (value ?? '').split(/\s+/).filter((word) => word !== '');
    found.set(key, [...(found.get(key) ?? []), ...words]);
  }
  const get = (key: string) => found.get(key) ?? [];
  return { wantedBy: get('WantedBy'), requiredBy: get('RequiredBy'), alias: get('Alias') };
}

export const lateTarget = 'imago-late.target';
