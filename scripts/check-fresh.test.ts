import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { canBeOrdinary } from '../test/support/ordinary-user.ts';

let place: string;
let source: string;

/** Prints what it was started with, and ends like the check would. */
const stub = `#!/bin/sh
echo "run uid=$(id -u) args=$* cwd=$PWD mode=$(stat -c %a ..) home=$(ls -A "$HOME" | wc -l) \\
cache=$(test -e "$IMAGO_CACHE" && echo full || echo empty) caches=$(ls -A "$(dirname "$IMAGO_CACHE")" | wc -l) \\
xdg=\${XDG_CACHE_HOME:-none} url=\${IMAGO_URL:-none} committed=$(cat committed)"
exit $(cat code)
`;

function git(...words: readonly string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
  const { status, stderr } = spawnSync('git', ['-C', source, ...who, ...words], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'imago-check-fresh-'));
  // The ordinary user passes through it.
  chmodSync(place, 0o755);
  source = join(place, 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'check'), stub, { mode: 0o755 });
  writeFileSync(join(source, 'committed'), 'yes');
  writeFileSync(join(source, 'code'), '0');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

function checkFresh(names: readonly string[], flags: readonly string[]) {
  const script = resolve(import.meta.dirname, 'check-fresh.ts');
  const code = `import { checkFresh } from ${JSON.stringify(script)};
    process.exitCode = await checkFresh(${JSON.stringify(names)}, ${JSON.stringify(flags)}, ${JSON.stringify(source)});`;
  const env = {
    ...process.env,
    ...{ TMPDIR: place, XDG_CACHE_HOME: '/full', IMAGO_URL: 'http://elsewhere', IMAGO_CACHE: '/full' },
  };
  const words = ['--input-type=module', '--eval', code];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: 'utf8' });
  const runs = stdout.split('\n').filter((line) => line.startsWith('run '));
  return { status, stdout, stderr, runs: runs.map((line) => line.split(' ').slice(1)) };
}

const empty = ['home=0', 'cache=empty', 'caches=0', 'xdg=none', 'url=none', 'committed=yes'];

test('runs the named suites in a clone that only its owner can enter, with empty directories', () => {
  writeFileSync(join(source, 'committed'), 'no');
  const { status, stdout, runs, stderr } = checkFresh(['integration'], ['--soak']);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('Changes that are not committed are not part of this run.');
  expect(runs).toHaveLength(1);
  expect(runs[0]).toEqual(
    expect.arrayContaining([`uid=${process.getuid?.()}`, 'args=integration', '--soak', 'mode=700', ...empty]),
  );
  const cwd = runs[0]?.find((word) => word.startsWith('cwd='))?.slice(4) ?? '';
  expect(cwd.startsWith(`${place}/imago-fresh-`)).toBe(true);
  expect(existsSync(cwd)).toBe(false);
});

test.runIf(canBeOrdinary)('runs the quick suites again as an ordinary user', () => {
  const { status, runs, stderr } = checkFresh(['lint', 'integration'], []);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(runs).toHaveLength(2);
  expect(runs[0]).toEqual(expect.arrayContaining(['uid=0', 'args=lint', 'integration']));
  const second = ['uid=47101', 'args=lint', 'mode=700', 'home=0', 'cache=empty', 'url=none', 'committed=yes'];
  expect(runs[1]).toEqual(expect.arrayContaining(second));
  expect(runs[1]).not.toContain('integration');
});

test('fails if a suite fails', () => {
  writeFileSync(join(source, 'code'), '3');
  git('commit', '--quiet', '--all', '--message', 'second');
  expect(checkFresh(['integration'], []).status).toBe(3);
});

test('ends with the first run if a signal ended that', () => {
  writeFileSync(join(source, 'check'), `${stub.split('\n').slice(0, -2).join('\n')}\nkill -INT $$\n`, {
    mode: 0o755,
  });
  git('commit', '--quiet', '--all', '--message', 'second');
  const { status, runs } = checkFresh(['lint'], []);
  expect({ status, runs: runs.length }).toEqual({ status: 130, runs: 1 });
});
