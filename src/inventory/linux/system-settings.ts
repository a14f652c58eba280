// The settings of a system as it would find them at its start: kernel parameters, modules, users.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { InventoryGroup, InventorySettings, InventoryUser } from '../model/inventory.ts';
import type { DiskTree } from './disk-tree.ts';
import { nameOf } from './disk-tree.ts';

/** The first that has a file of some name wins. */
const levels = ['/etc', '/usr/local/lib', '/usr/lib'] as const;

export async function readSettings(tree: DiskTree, cmdline: string): Promise<InventorySettings> {
  return {
    sysctl: sortKeys(parseSysctl(await readLevels(tree, 'sysctl.d'))),
    modules: parseModules(await readLevels(tree, 'modules-load.d')),
    kernelArguments: cmdline.split(/\s+/).filter((word) => word !== ''),
    users: await readUsers(tree),
    groups: await readGroups(tree),
  };
}

/** The texts of `NAME.d/*.conf` in the order in which they are read: by file name, whatever level they are from. */
async function readLevels(tree: DiskTree, folder: string): Promise<string[]> {
  const files = new Map<string, string>();
  for (const level of levels) {
    for (const { path } of tree.list(`${level}/${folder}`)) {
      if (path.endsWith('.conf') && !files.has(nameOf(path))) files.set(nameOf(path), path);
    }
  }
  const texts: string[] = [];
  for (const [, path] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    texts.push((await tree.readText(path)) ?? '');
  }
  return texts;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^[#;]/.test(line));
}

/** Later values win. Names are written with dots, whichever way the file writes them. */
export function parseSysctl(texts: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const line of texts.flatMap(linesOf)) {
    const [, name = '', value = ''] = /^-?([^=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name !== '') values[dotted(name)] = value.trim();
  }
  return values;
}

/** `net/ipv4/conf/eth0.5/x` has slashes for dots: the first separator decides. */
function dotted(name: string): string {
  if (!/^[^.]*\//.test(name)) return name;
  return name.replace(/[./]/g, (mark) => (mark === '/' ? '.' : '/'));
}

export function parseModules(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap(linesOf))].sort();
}

async function readUsers(tree: DiskTree): Promise<InventoryUser[]> {
  const shadow = new Map(
    (await readTable(tree, '/etc/shadow', 2)).map(([name = '', hash = '']) => [name, hash] as const),
  );
  const users = await readTable(tree, '/etc/passwd', 7);
  return users
    .map(([name = '', hash = '', uid = '', gid = '', , home = '', shell = '']) => ({
      name,
      uid: numberOf(uid, name),
      gid: numberOf(gid, name),
      home,
      shell,
      hasPassword: !/^[!*]/.test(hash === 'x' ? (shadow.get(name) ?? '*') : hash),
    }))
    .sort(byName);
}

async function readGroups(tree: DiskTree): Promise<InventoryGroup[]> {
  const groups = await readTable(tree, '/etc/group', 4);
  return groups
    .map(([name = '', , gid = '', members = '']) => ({
      name,
      gid: numberOf(gid, name),
      members: members.split(',').filter((member) => member !== ''),
    }))
    .sort(byName);
}

async function readTable(tree: DiskTree, path: string, columns: number): Promise<string[][]> {
  return linesOf((await tree.readText(path)) ?? '')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= columns);
}

function numberOf(text: string, name: string): number {
  if (/^[0-9]+$/.test(text)) return Number(text);
  throw new ImagoError('inventory-invalid', `the user or group ${name} has no number`);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function sortKeys(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** `KEY=value` lines, as in os-release; quotes are taken off. */
export function parseAssignments(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const line of linesOf(text)) {
    const [, name, value = ''] = /^([A-Za-z_][A-Za-z0-9_.-]*)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) values[name] = value.replace(/^(['"])(.*)\1$/, '$2');
  }
  return sortKeys(values);
}
