// Which ids the sandbox runs with. Its root is an id that owns nothing on this host: a subordinate id of the caller,
// or one of a range that no user has if the caller is root.
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface Namespace {
  /** Put before a command, it can change both the caller's files and those of the sandbox. */
  readonly owner: readonly string[];
  /** The id of the sandbox's root, as `owner` sees it. */
  readonly first: number;
  /** Differs where ids differ: files made under one name cannot be used under another. */
  readonly name: string;
  readonly asRoot: boolean;
}

export const neededIds = 65_535;
/** Above the ids that systemd gives to containers, and below those that programs take for negative. */
const freeRange = 1_900_000_000;
const mostIds = 2 ** 31 - 1;

/** Throws `sandbox-missing` if this user cannot have a sandbox, with what to do about it. */
export function findNamespace(uid = process.getuid?.() ?? -1): Namespace {
  for (const program of ['unshare', 'setpriv', 'prlimit']) requireProgram(program, 'util-linux');
  requireProgram('bwrap', 'bubblewrap');
  requireProgram('bash', 'bash');
  const user = userNameOf(uid);
  const [own, group] = ['/etc/subuid', '/etc/subgid'].map((file) => subordinateRange(file, user, uid));
  if (uid === 0) {
    const first = rootRange(own === group ? own : undefined, takenIds(user));
    return { owner: [], first, name: `0-${first}`, asRoot: true };
  }
  requireProgram('newuidmap', 'uidmap');
  requireProgram('newgidmap', 'uidmap');
  if (own !== undefined && group !== undefined) {
    const owner = ['unshare', '--user', '--map-root-user', '--map-auto'];
    return { owner, first: 1, name: `${uid}-${own}`, asRoot: false };
  }
  const file = own === undefined ? '/etc/subuid' : '/etc/subgid';
  throw new ImagoError('sandbox-missing', `${user} has fewer than ${neededIds} ids in ${file}.`, {
    hint: `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${user}`,
  });
}

/** Ids that someone else has: the first one, and how many. */
type Range = readonly [first: number, count: number];

/**
 * Returns the first id of a range that overlaps with no other: root's own if it has one, else the lowest one from
 * `freeRange`. A user of the host who had one of these ids would own the sandbox's files and processes.
 */
export function rootRange(own: number | undefined, taken: readonly Range[]): number {
  const overlap = (start: number) =>
    taken.find(([first, count]) => first < start + neededIds && start < first + count);
  if (own !== undefined && overlap(own) === undefined) return own;
  for (let start = freeRange; start + neededIds < mostIds; ) {
    const found = overlap(start);
    if (found === undefined) return start;
    start = found[0] + found[1];
  }
  throw new ImagoError('sandbox-missing', `No ${neededIds} ids from ${freeRange} are free on this host.`, {
    hint: 'Give root a range of its own in /etc/subuid and /etc/subgid, or remove one of another user.',
  });
}

/** Returns the subordinate ids of everyone but root, and the ids of all local users and groups. */
function takenIds(root: string): readonly Range[] {
  const subordinate = ['/etc/subuid', '/etc/subgid'].flatMap((file) =>
    fieldsOf(file)
      .filter(([who]) => who !== root && who !== '0')
      .map(([, first, count]): Range => [Number(first), Number(count)]),
  );
  const users = ['/etc/passwd', '/etc/group'].flatMap((file) =>
    fieldsOf(file).map(([, , id]): Range => [Number(id), 1]),
  );
  return [...subordinate, ...users].filter(([first, count]) => first >= 0 && count > 0);
}

function fieldsOf(file: string): readonly (readonly string[])[] {
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .map((text) => text.split(':'))
    : [];
}

function requireProgram(name: string, from: string): void {
  const folders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
  if (folders.some((folder) => existsSync(`${folder}/${name}`))) return;
  throw new ImagoError('sandbox-missing', `This host has no ${name}.`, {
    hint: `sudo apt-get install ${from}`,
  });
}

function userNameOf(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    return String(uid);
  }
}

/** The first id of the user's first range, which is the one that `unshare --map-auto` takes. */
function subordinateRange(file: string, user: string, uid: number): number | undefined {
  const line = fieldsOf(file).find(([who]) => who === user || who === String(uid));
  return line !== undefined && Number(line[2]) >= neededIds ? Number(line[1]) : undefined;
}
