// Runs ./check as on a new host: from a clone that only its owner can enter, with an empty cache and an empty home, and
// then the quick suites again as an ordinary user with a clone of his own. Everything is removed afterwards.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { systemPath } from '../src/host/process/run-tool.ts';
import { canBeOrdinary, ordinaryUser } from '../test/support/ordinary-user.ts';
import { suites } from './suites.ts';

const root = resolve(import.meta.dirname, '..');

/** Runs these suites, or all, and returns the exit code. Only what is committed is in the clone. */
export async function checkFresh(
  names: readonly string[],
  flags: readonly string[],
  source = root,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-fresh-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  process.on('exit', remove);
  chmodSync(folder, 0o755);
  const changes = await run(['git', '-C', source, 'diff', '--quiet', 'HEAD'], process.env);
  if (changes !== 0) console.log('Changes that are not committed are not part of this run.');

  const own = await makeClone(source, join(folder, 'own'));
  const code = await run(['env', '-C', own.clone, './check', ...names, ...flags], {
    ...emptyPlaces(folder, 'own'),
    ...ownSettings(process.env),
  });

  // A signal ended it: the second run would ignore the user's Ctrl-C.
  if (code > 128) return code;
  const quick = suites.filter(({ name, quick }) => quick && (names.length === 0 || names.includes(name)));
  if (quick.length === 0 || process.getuid?.() !== 0) return code;
  if (!canBeOrdinary) {
    console.error('An ordinary user cannot be made here: install uidmap and allow mount namespaces.');
    return 1;
  }
  console.log('\nThe quick suites again, as an ordinary user');
  const user = ordinaryUser(folder, 'ordinary');
  const other = await makeClone(source, join(user.home, 'work'));
  await run(['chown', '-R', `${user.uid}:${user.uid}`, other.folder], process.env);
  // Tests that need root ran before: in this run they may be skipped, even in CI.
  const places = Object.entries({ ...emptyPlaces(folder, 'ordinary', user.uid), CI: '' });
  const env = places.flatMap(([name, value]) => (keptNames.includes(name) ? [`${name}=${value}`] : []));
  const words = user.run('env', '-C', other.clone, ...env, './check', ...quick.map(({ name }) => name));
  const second = await run(words, Object.fromEntries(places));
  return code === 0 ? second : code;
}

async function makeClone(
  source: string,
  folder: string,
): Promise<{ readonly folder: string; readonly clone: string }> {
  mkdirSync(folder, { mode: 0o700 });
  const clone = join(folder, 'imago');
  const code = await run(['git', 'clone', '--quiet', '--no-hardlinks', source, clone], process.env);
  if (code !== 0) throw new Error(`git clone ended with ${code}`);
  return { folder, clone };
}

const keptNames = ['HOME', 'IMAGO_CACHE', 'PATH'];

/** The environment without the caller's directories, and with empty ones instead. */
function emptyPlaces(folder: string, name: string, uid?: number): Record<string, string> {
  const theirs = /^(XDG_.*|IMAGO_.*|npm_.*|USER|LOGNAME|MAIL|PWD|OLDPWD|NODE_COMPILE_CACHE)$/;
  const home = join(folder, `home-${name}`);
  // The cache itself is not made: the first program that needs it does that.
  const caches = join(folder, `caches-${name}`);
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(caches, { mode: 0o755 });
  if (uid !== undefined) for (const path of [home, caches]) chownSync(path, uid, uid);
  const kept = Object.entries(process.env).flatMap(([key, value]) =>
    value === undefined || theirs.test(key) ? [] : [[key, value] as const],
  );
  const path = (process.env.PATH ?? '').split(':').filter((part) => !part.includes('node_modules'));
  return {
    ...Object.fromEntries(kept),
    ...{
      HOME: home,
      IMAGO_CACHE: join(caches, 'imago'),
      PATH: [...path, ...systemPath.split(':')].join(':'),
    },
  };
}

/** Where packages come from is a setting and not a cache. */
function ownSettings({ HOME = '/nonexistent' }: NodeJS.ProcessEnv): Record<string, string> {
  return {
    npm_config_userconfig: join(HOME, '.npmrc'),
    GOENV: join(HOME, '.config/go/env'),
    PIP_CONFIG_FILE: join(HOME, '.config/pip/pip.conf'),
  };
}

/** A signal to this process ends what it started, and what that started. */
function run([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, pass);
  return new Promise((done) => {
    const end = (code: number) => {
      for (const signal of signals) process.off(signal, pass);
      done(code);
    };
    child.on('error', (error) => {
      console.error(error.message);
      end(127);
    });
    child.on('exit', (code, signal) => end(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}
