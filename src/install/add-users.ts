// Users and groups in the files of the system, without a password.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Host } from './host.ts';

/** A user that cannot log in by password. */
export interface UserSetting {
  readonly name: string;
  readonly uid?: number;
  readonly groups?: readonly string[];
  readonly shell?: string;
  readonly home?: string;
  readonly authorizedKeys?: readonly string[];
}

export interface UserNumbers {
  /** The ids of `USER:GROUP`, by name or number. Throws `recipe-invalid` for names that the system lacks. */
  find(owner: string): { readonly uid: number; readonly gid: number };
}

interface Row {
  readonly name: string;
  readonly fields: readonly string[];
}

interface Tables {
  passwd: Row[];
  group: Row[];
  shadow: Row[];
  gshadow: Row[];
}

const files = ['passwd', 'group', 'shadow', 'gshadow'] as const;
const shadowMode = 0o640;

/** Adds those that are missing, and their groups and keys. A second call changes nothing. */
export async function addUsers(host: Host, users: readonly UserSetting[]): Promise<UserNumbers> {
  const tables: Tables = { passwd: [], group: [], shadow: [], gshadow: [] };
  for (const file of files) tables[file] = parseTable((await host.readText(`/etc/${file}`)) ?? '');
  const homes: { path: string; uid: number; gid: number; keys: readonly string[] }[] = [];
  for (const user of users) {
    const { uid, gid, home } = addUser(tables, user);
    homes.push({ path: home, uid, gid, keys: user.authorizedKeys ?? [] });
  }
  if (users.length > 0) await writeTables(host, tables);
  for (const { path, uid, gid, keys } of homes) {
    await host.makeFolder(path, { mode: 0o750, uid, gid });
    if (keys.length === 0) continue;
    await host.makeFolder(`${path}/.ssh`, { mode: 0o700, uid, gid });
    await host.writeText(`${path}/.ssh/authorized_keys`, `${keys.join('\n')}\n`, { mode: 0o600, uid, gid });
  }
  return { find: (owner) => findOwner(tables, owner) };
}

function addUser(tables: Tables, user: UserSetting): { uid: number; gid: number; home: string } {
  const present = tables.passwd.find(({ name }) => name === user.name);
  const home = user.home ?? present?.fields[5] ?? `/home/${user.name}`;
  const shell = user.shell ?? present?.fields[6] ?? '/bin/sh';
  const uid = user.uid ?? (present === undefined ? freeId(tables) : Number(present.fields[2]));
  const taken = tables.passwd.find(({ name, fields }) => name !== user.name && Number(fields[2]) === uid);
  if (taken !== undefined) {
    throw new ImagoError(
      'recipe-invalid',
      `settings.users: ${user.name} and ${taken.name} have the uid ${uid}.`,
    );
  }
  const gid = addGroup(tables, user.name, uid);
  put(tables.passwd, {
    name: user.name,
    fields: [user.name, 'x', String(uid), String(gid), '', home, shell],
  });
  if (present === undefined)
    put(tables.shadow, { name: user.name, fields: [user.name, '!', '', '0', '99999', '7', '', '', ''] });
  for (const group of user.groups ?? []) {
    addGroup(tables, group, undefined);
    join(tables, group, user.name);
  }
  return { uid, gid, home };
}

function addGroup(tables: Tables, name: string, wanted: number | undefined): number {
  const present = tables.group.find((row) => row.name === name);
  if (present !== undefined) return Number(present.fields[2]);
  const used = new Set(tables.group.map(({ fields }) => Number(fields[2])));
  const gid = wanted !== undefined && !used.has(wanted) ? wanted : freeId(tables);
  put(tables.group, { name, fields: [name, 'x', String(gid), ''] });
  put(tables.gshadow, { name, fields: [name, '!', '', ''] });
  return gid;
}

function join(tables: Tables, group: string, user: string): void {
  for (const table of [tables.group, tables.gshadow]) {
    const row = table.find(({ name }) => name === group);
    if (row === undefined) continue;
    const members = (row.fields[3] ?? '').split(',').filter((name) => name !== '');
    if (members.includes(user)) continue;
    put(table, { name: group, fields: [...row.fields.slice(0, 3), [...members, user].join(',')] });
  }
}

/** The first from 1000 on that is neither a user's nor a group's. */
function freeId({ passwd, group }: Tables): number {
  const used = new Set([...passwd, ...group].map(({ fields }) => Number(fields[2])));
  let id = 1000;
  while (used.has(id)) id += 1;
  return id;
}

function findOwner(tables: Tables, owner: string): { uid: number; gid: number } {
  const [user = '', group = ''] = owner.split(':');
  const idOf = (table: readonly Row[], name: string) =>
    /^[0-9]+$/.test(name) ? name : table.find((row) => row.name === name)?.fields[2];
  const [uid, gid] = [idOf(tables.passwd, user), idOf(tables.group, group)];
  if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  const missing = uid === undefined ? `user ${user}` : `group ${group}`;
  throw new ImagoError('recipe-invalid', `The owner ${owner} is not on the system: there is no ${missing}.`);
}

function parseTable(text: string): Row[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const fields = line.split(':');
      return { name: fields[0] ?? '', fields };
    });
}

function put(table: Row[], row: Row): void {
  const at = table.findIndex(({ name }) => name === row.name);
  if (at < 0) table.push(row);
  else table[at] = row;
}

async function writeTables(host: Host, tables: Tables): Promise<void> {
  const shadowGid = Number(tables.group.find(({ name }) => name === 'shadow')?.fields[2] ?? 0);
  for (const file of files) {
    const text = tables[file].map(({ fields }) => `${fields.join(':')}\n`).join('');
    const secret = file === 'shadow' || file === 'gshadow';
    await host.writeText(`/etc/${file}`, text, secret ? { mode: shadowMode, uid: 0, gid: shadowGid } : {});
  }
}
