// The Debian packages on a disk, from dpkg's own database, and which file each of them brought.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { InventoryPackage } from '../model/inventory.ts';
import type { DiskTree } from './disk-tree.ts';
import { nameOf } from './disk-tree.ts';

const database = '/var/lib/dpkg';

/** Installed packages by name and architecture. A disk without dpkg has none. */
export async function readPackages(tree: DiskTree): Promise<InventoryPackage[]> {
  const texts = [await tree.readText(`${database}/status`)];
  for (const entry of tree.list(`${database}/status.d`)) {
    if (entry.type === 'file' && !entry.path.endsWith('.md5sums'))
      texts.push(await tree.readText(entry.path));
  }
  const packages = texts.flatMap((text) => parseStatus(text ?? ''));
  return packages.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function keyOf({ name, architecture }: InventoryPackage): string {
  return `${name}\0${architecture}`;
}

/** Throws `inventory-invalid` for a stanza without a name or version. What is not installed is left out. */
export function parseStatus(text: string): InventoryPackage[] {
  return text
    .split(/\n(?:[ \t]*\n)+/)
    .filter((stanza) => stanza.trim() !== '')
    .flatMap((stanza) => parseStanza(stanza));
}

function parseStanza(stanza: string): InventoryPackage[] {
  const fields = new Map<string, string>();
  for (const line of stanza.split('\n')) {
    if (/^[ \t]/.test(line) || line === '') continue;
    const colon = line.indexOf(':');
    if (colon <= 0)
      throw new ImagoError('inventory-invalid', `dpkg's database has the line ${JSON.stringify(line)}`);
    fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const name = fields.get('package') ?? '';
  // Those of status.d, as in images without dpkg, have no status and are installed.
  const status = fields.get('status') ?? 'install ok installed';
  if (name === '') throw new ImagoError('inventory-invalid', "dpkg's database has a package without a name");
  if (status.split(/\s+/)[2] !== 'installed') return [];
  const version = fields.get('version') ?? '';
  if (version === '') throw new ImagoError('inventory-invalid', `the package ${name} has no version`);
  const [, source = name, sourceVersion = version] =
    /^(\S+)(?:\s+\((.+)\))?$/.exec(fields.get('source') ?? name) ?? [];
  return [
    {
      name,
      version,
      architecture: fields.get('architecture') ?? 'all',
      source,
      sourceVersion,
      maintainer: fields.get('maintainer') ?? '',
      homepage: fields.get('homepage') ?? '',
      installedBytes: Number(fields.get('installed-size') ?? 0) * 1024 || 0,
    },
  ];
}

/** Package names by path. Paths are as the disk has them, also where a package was made before /usr was merged. */
export async function readOwners(tree: DiskTree): Promise<Map<string, string>> {
  const owners = new Map<string, string>();
  const diverted = await readDiversions(tree);
  for (const list of tree.list(`${database}/info`)) {
    if (list.type !== 'file' || !list.path.endsWith('.list')) continue;
    const name = nameOf(list.path).slice(0, -'.list'.length).replace(/:.*$/, '');
    for (const line of ((await tree.readText(list.path)) ?? '').split('\n')) {
      if (!line.startsWith('/') || line === '/.') continue;
      const diversion = diverted.get(line);
      const path = diversion !== undefined && diversion.by !== name ? diversion.to : line;
      const entry = tree.look(path);
      if (entry !== undefined && entry.type !== 'directory') owners.set(entry.path, name);
    }
  }
  return owners;
}

async function readDiversions(tree: DiskTree): Promise<Map<string, { to: string; by: string }>> {
  const lines = ((await tree.readText(`${database}/diversions`)) ?? '').split('\n');
  const found = new Map<string, { to: string; by: string }>();
  for (let at = 0; at + 2 < lines.length; at += 3) {
    found.set(lines[at] ?? '', { to: lines[at + 1] ?? '', by: lines[at + 2] ?? '' });
  }
  return found;
}
