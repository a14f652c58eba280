// How a program is started apart from the system: in namespaces of its own for mounts, processes, network and,
// for an ordinary user, user ids. Everything in them ends when Imago ends, however it ends.
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface Namespace {
  /** The program that enters it, and its arguments, before those of what is run inside. */
  readonly command: readonly [string, ...string[]];
  readonly asRoot: boolean;
}

const neededIds = 65_535;
const apart = [
  '--mount',
  '--propagation',
  'private',
  '--pid',
  '--net',
  '--ipc',
  '--uts',
  '--fork',
  '--kill-child=KILL',
];

/** Throws `sandbox-missing` when this user cannot have one, with what to do about it. */
export function findNamespace(uid = process.getuid?.() ?? -1): Namespace {
  for (const program of ['unshare', 'setpriv']) requireProgram(program, 'util-linux');
  const enter = ['--pdeathsig', 'KILL', 'unshare', ...apart] as const;
  if (uid === 0) return { command: ['setpriv', ...enter], asRoot: true };
  requireProgram('newuidmap', 'uidmap');
  requireProgram('newgidmap', 'uidmap');
  const user = userNameOf(uid);
  for (const file of ['/etc/subuid', '/etc/subgid']) {
    if (subordinateIds(file, user, uid) >= neededIds) continue;
    throw new ImagoError('sandbox-missing', `${user} has fewer than ${neededIds} ids in ${file}.`, {
      hint: `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${user}`,
    });
  }
  return { command: ['setpriv', ...enter, '--user', '--map-root-user', '--map-auto'], asRoot: false };
}

function requireProgram(name: string, from: string): void {
  const folders = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
  if (folders.some((folder) => existsSync(`${folder}/${name}`))) return;
  throw new ImagoError('sandbox-missing', `This machine has no ${name}.`, {
    hint: `Install the package ${from}.`,
  });
}

function userNameOf(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    return String(uid);
  }
}

function subordinateIds(file: string, user: string, uid: number): number {
  if (!existsSync(file)) return 0;
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([who]) => who === user || who === String(uid))
    .reduce((sum, [, , count]) => sum + Number(count), 0);
}
