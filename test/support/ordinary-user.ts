// An ordinary user with subordinate ids, who exists only in a mount namespace: the machine's own users stay as they
// are. What he runs sees the tree at another place, so that it may lie where only root can look. Needs root.
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { systemPath } from '../../src/host/process/run-tool.ts';

export interface OrdinaryUser {
  readonly uid: number;
  /** His own; whoever made it removes it. */
  readonly home: string;
  /** The words that run a program of the tree as him: a script of Node by its path in the tree. */
  node(script: string, ...args: readonly string[]): readonly [string, ...string[]];
  /** The words that run any program as him; the tree's programs come first on his path. */
  run(program: string, ...args: readonly string[]): readonly [string, ...string[]];
  /** Where he sees what has this path in the tree. */
  inTree(path: string): string;
}

const tree = resolve(import.meta.dirname, '../..');
const seenAt = '/mnt';
const enter = `
for file in passwd group subuid subgid; do mount --bind "$1/$file" "/etc/$file"; done
mount --bind "$2" ${seenAt}
uid=$3
shift 3
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
`;

/** Whether this machine lets us make one. */
export const canBeOrdinary =
  process.getuid?.() === 0 &&
  existsSync('/usr/bin/newuidmap') &&
  spawnSync('unshare', ['-m', 'true']).status === 0;

export function ordinaryUser(folder: string, name = 'ordinary', uid = 47_101): OrdinaryUser {
  const etc = join(folder, `etc-${name}`);
  const home = join(folder, name);
  for (const made of [etc, home]) mkdirSync(made);
  chownSync(home, uid, uid);
  const root = 'root:x:0:0:root:/root:/bin/sh\n';
  writeFileSync(join(etc, 'passwd'), `${root}${name}:x:${uid}:${uid}::${home}:/bin/sh\n`);
  writeFileSync(join(etc, 'group'), `root:x:0:\n${name}:x:${uid}:\n`);
  for (const file of ['subuid', 'subgid']) writeFileSync(join(etc, file), `${name}:2000000:65536\n`);
  const inTree = (path: string) => join(seenAt, relative(tree, path));
  const program = process.execPath.startsWith(`${tree}/`) ? inTree(process.execPath) : process.execPath;
  const words = (...rest: readonly string[]) =>
    [
      ...(['unshare', '--mount', '--propagation', 'private', 'sh', '-euc', enter, 'sh'] as const),
      ...[etc, tree, String(uid), 'env', `HOME=${home}`, ...rest],
    ] as const;
  return {
    uid,
    home,
    inTree: (path) => inTree(resolve(tree, path)),
    node: (script, ...args) => words(program, inTree(resolve(tree, script)), ...args),
    run: (path, ...args) => words(`PATH=${join(seenAt, 'node_modules/.bin')}:${systemPath}`, path, ...args),
  };
}
