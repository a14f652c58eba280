// Runs a program of the tree as an ordinary user when root calls, as CI does: what needs no root is shown to need none.
// Whoever else calls runs it as himself, and so does root where no such user can be made.
// Usage: node scripts/as-ordinary-user.ts PROGRAM [ARGUMENT…]
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { lendCache } from '../test/support/lent-cache.ts';
import { canBeOrdinary, type OrdinaryUser, ordinaryUser } from '../test/support/ordinary-user.ts';

const [program, ...args] = process.argv.slice(2);
if (program === undefined) {
  console.error('usage: node scripts/as-ordinary-user.ts PROGRAM [ARGUMENT…]');
  process.exit(2);
}
if (!canBeOrdinary && process.getuid?.() === 0)
  console.error(
    'Root runs this: it needs newuidmap and the right to unshare mounts to do so as an ordinary user.',
  );
process.exit(await (canBeOrdinary ? runAsUser([program, ...args]) : run([program, ...args], process.env)));

async function runAsUser(words: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'imu-'));
  try {
    chmodSync(folder, 0o755);
    const user = ordinaryUser(folder);
    const cache = await lendCache(user.uid);
    try {
      const { IMAGO_TEST_REPORT: report } = process.env;
      const told = join(user.home, 'skipped.json');
      const path = `PATH=${user.inTree('node_modules/.bin')}:${process.env.PATH}`;
      const code = await run(user.run('env', '-C', user.inTree('.'), path, ...words), {
        ...withoutOwnPlaces(process.env),
        ...{ IMAGO_CACHE: cache.folder, TMPDIR: user.home },
        ...(report === undefined ? {} : { IMAGO_TEST_REPORT: told }),
      });
      if (report !== undefined && existsSync(told)) copyFileSync(told, report);
      if (code < 128) await cache.giveBack();
      return code;
    } finally {
      endLeft(user);
      await cache.end();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Where root keeps his own things. */
function withoutOwnPlaces(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(XDG_.*|IMAGO_HOME|USER|LOGNAME|MAIL|PWD|OLDPWD)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.test(name)));
}

/** Machines outlive whoever started them, and are known by the folder that they are in. */
function endLeft({ uid, home }: OrdinaryUser): void {
  const isLeft = (pid: string) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return words.includes(`${home}/`) && statSync(`/proc/${pid}`).uid === uid;
    } catch {
      return false;
    }
  };
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    if (isLeft(pid)) kill(Number(pid), 'SIGKILL');
}

/** What has ended meanwhile needs no signal. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A signal ends all of what was started: it has a process group of its own, so that each comes once. */
function run([command = '', ...rest]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, rest, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  const pass = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined) kill(-child.pid, signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(error.message);
      resolve(127);
    });
    child.on('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}
