// The systemd units on a disk, and what would start them: derived from files and links alone, as systemctl does.

import type { Ext4Entry } from '../../disk/ext4/reader.ts';
import type { InventoryUnit, InventoryUnitState } from '../model/inventory.ts';
import type { DiskTree } from './disk-tree.ts';
import { nameOf, parentOf } from './disk-tree.ts';

const own = '/etc/systemd/system';
/** The first that has a unit wins. */
const folders = [own, '/usr/local/lib/systemd/system', '/usr/lib/systemd/system'] as const;
const unitName = /^[^/]+\.(?:service|socket|target|timer|path|mount|automount|slice|swap|scope|device)$/;
const linkFolder = /^(.+)\.(?:wants|requires|upholds)$/;

interface Found {
  readonly entry: Ext4Entry;
  readonly wantedBy: Set<string>;
  /** Whether the administrator's folder starts it, rather than the system's. */
  isEnabled: boolean;
}

export async function readUnits(tree: DiskTree): Promise<InventoryUnit[]> {
  const found = new Map<string, Found>();
  for (const folder of folders) {
    for (const entry of tree.list(folder)) {
      const name = nameOf(entry.path);
      if (!unitName.test(name) || entry.type === 'directory' || found.has(name)) continue;
      found.set(name, { entry, wantedBy: new Set(), isEnabled: false });
    }
  }
  for (const folder of folders) {
    for (const directory of tree.list(folder)) {
      const wanting = linkFolder.exec(nameOf(directory.path))?.[1];
      if (wanting === undefined || directory.type !== 'directory') continue;
      for (const link of tree.list(directory.path)) noteLink(tree, found, link, wanting, folder === own);
    }
  }
  for (const { entry } of found.values()) noteAlias(found, entry);
  const units: InventoryUnit[] = [];
  for (const [name, unit] of found) {
    units.push({
      name,
      state: await stateOf(tree, unit),
      path: unit.entry.path,
      wantedBy: [...unit.wantedBy].sort(),
      dropIns: dropInsOf(tree, name),
    });
  }
  return units.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function noteLink(
  tree: DiskTree,
  found: Map<string, Found>,
  link: Ext4Entry,
  wanting: string,
  isOwn: boolean,
): void {
  const name = nameOf(link.path);
  if (!unitName.test(name)) return;
  let unit = found.get(name);
  if (unit === undefined) {
    const template = found.get(name.replace(/@[^.]*\./, '@.'))?.entry ?? tree.resolve(link.path);
    if (template === undefined) return;
    unit = { entry: template, wantedBy: new Set(), isEnabled: false };
    found.set(name, unit);
  }
  unit.wantedBy.add(wanting);
  if (isOwn) unit.isEnabled = true;
}

/** A link in the administrator's folder to a unit of the system enables that unit under another name. */
function noteAlias(found: Map<string, Found>, { path, link, type }: Ext4Entry): void {
  if (type !== 'symlink' || parentOf(path) !== own || link === '/dev/null') return;
  const target = found.get(nameOf(link));
  if (target !== undefined && nameOf(link) !== nameOf(path)) target.isEnabled = true;
}

async function stateOf(tree: DiskTree, { entry, isEnabled }: Found): Promise<InventoryUnitState> {
  if (entry.link === '/dev/null' || (entry.type === 'file' && entry.size === 0)) return 'masked';
  if (entry.type === 'symlink' && nameOf(entry.link) !== nameOf(entry.path)) return 'alias';
  if (isEnabled) return 'enabled';
  const text = (await tree.readText(entry.path)) ?? '';
  return /^\[Install\]\s*$/m.test(text) ? 'disabled' : 'static';
}

function dropInsOf(tree: DiskTree, name: string): string[] {
  return folders
    .flatMap((folder) => tree.list(`${folder}/${name}.d`))
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.conf'))
    .sort();
}
