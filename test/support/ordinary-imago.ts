// Imago as an ordinary user has it, with real machines: in a home of his own where the test may make such a user,
// else as whoever runs the tests.
import { spawn } from 'node:child_process';
import { chmodSync, cpSync, lchownSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { collect, type Finished } from './imago.ts';
import { canBeOrdinary, type OrdinaryUser, ordinaryUser } from './ordinary-user.ts';

export interface OrdinaryImago {
  /** Everyone may look into it. */
  readonly folder: string;
  /** The tree that it runs from. */
  readonly tree: string;
  /** The user's own folder. */
  readonly userHome: string;
  /** The state folder. */
  readonly home: string;
  run(...words: readonly string[]): Promise<Finished>;
  /** Runs with --json, expects success, and reads the document. */
  json<T>(...words: readonly string[]): Promise<T>;
  /** Runs another program as the user, with Imago's state folder in its environment. */
  program(path: string, ...args: readonly string[]): Promise<Finished>;
  /** Ends machines, daemon and database, and takes the folders away. */
  end(): Promise<void>;
}

const root = resolve(import.meta.dirname, '../..');
const notCopied = new Set(['node_modules', 'dist', '.git', 'coverage'].map((name) => join(root, name)));

/** With `ownTree` the user has a copy of the source tree, as his own clone would be, and runs all from there. */
export function createOrdinaryImago({ ownTree = false } = {}): OrdinaryImago {
  const folder = mkdtempSync(join(tmpdir(), 'imo-'));
  chmodSync(folder, 0o755);
  const user = canBeOrdinary ? ordinaryUser(folder) : undefined;
  const userHome = user?.home ?? folder;
  const home = join(userHome, 'state');
  const tree = user === undefined ? root : ownTree ? copyTree(user) : user.inTree('.');

  function start([program, ...args]: readonly [string, ...string[]]): Promise<Finished> {
    const env = {
      ...process.env,
      IMAGO_HOME: home,
      IMAGO_PROVIDER: 'local',
      NO_COLOR: '1',
    };
    return collect(spawn(program, args, { cwd: '/', env, stdio: ['ignore', 'pipe', 'pipe'] }));
  }
  function run(...words: readonly string[]): Promise<Finished> {
    return program(join(tree, 'bin/imago'), ...words);
  }
  function program(path: string, ...args: readonly string[]): Promise<Finished> {
    return start(user?.run(path, ...args) ?? [path, ...args]);
  }
  return {
    ...{ folder, tree, userHome, home, run, program },
    async json<T>(...words: readonly string[]): Promise<T> {
      const { code, out, err } = await run(...words, '--json');
      if (code !== 0) throw new Error(`imago ${words.join(' ')} ended with ${code}: ${out}${err}`);
      return JSON.parse(out) as T;
    },
    async end() {
      await run('down');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What is installed and what is built are not part of it: the packages are those of this tree. */
function copyTree({ uid, home, inTree }: OrdinaryUser): string {
  const copy = join(home, 'imago');
  cpSync(root, copy, { recursive: true, filter: (path) => !notCopied.has(path) });
  symlinkSync(inTree('node_modules'), join(copy, 'node_modules'));
  for (const path of ['', ...readdirSync(copy, { recursive: true, encoding: 'utf8' })])
    lchownSync(join(copy, path), uid, uid);
  return copy;
}
