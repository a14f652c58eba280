// Packages that use up what the sandbox limits from outside: output and disk. Each run has a file system of its own, so
// that other programs on this host do not count. As root, and as an ordinary user.
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { hiddenFiller, outputFlood, racingFiller } from '../support/escape-kit.ts';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';
import type { SandboxJob, SandboxOutcome } from '../support/sandbox-child.ts';
import { patience } from '../support/speed.ts';

vi.setConfig({ testTimeout: patience(180_000) });

const mebibyte = 1024 ** 2;
const canMount = process.getuid?.() === 0;
let place: string;
let disk: string;

beforeAll(async () => {
  if (!canMount) return;
  place = await mkdtemp(join(tmpdir(), 'imago-limits-'));
  await chmod(place, 0o755);
  disk = join(place, 'disk');
  await mkdir(disk);
  await runTool('mount', ['-t', 'tmpfs', '-o', 'size=2g,mode=755', 'tmpfs', disk]);
});

afterAll(async () => {
  if (!canMount) return;
  await runTool('umount', [disk]);
  await rm(place, { recursive: true, force: true });
});

interface Caller {
  readonly uid: number;
  words(script: string, job: string): readonly [string, ...string[]];
}

async function run(
  caller: Caller,
  script: string,
  limits: SandboxJob['limits'] = {},
): Promise<SandboxOutcome> {
  const folder = await mkdtemp(join(disk, 'run-'));
  await chown(folder, caller.uid, caller.uid);
  await chmod(folder, 0o755);
  const job: SandboxJob = { script, folder, limits };
  const [program, ...args] = caller.words('test/support/sandbox-child.ts', JSON.stringify(job));
  const { out, err } = await collect(spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }));
  expect(err).toBe('');
  expect(await readdir(folder)).toEqual([]);
  return JSON.parse(out) as SandboxOutcome;
}

function suite(name: string, caller: () => Caller): void {
  test.each(['one-line', 'empty-lines'] as const)(
    `${name}: a package that prints endlessly (%s) is stopped, and the log stays small`,
    async (kind) => {
      const { error, logged, lines } = await run(caller(), outputFlood(kind, 700_000_000));
      expect(error).toEqual({
        code: 'build-failed',
        message: 'The package printed more than 64 MiB and was stopped.',
      });
      expect(logged).toBeLessThanOrEqual(64 * mebibyte);
      expect(lines).not.toContain('FLOODED');
    },
  );

  test(`${name}: the directory of devices holds devices and next to nothing else`, async () => {
    const { lines } = await run(
      caller(),
      `for name in null zero full random urandom tty ptmx; do [ -c /dev/$name ] || echo "no $name"; done
      for name in fd stdin stdout stderr; do [ -e /dev/$name ] || echo "no $name"; done
      echo word >/dev/null; [ "$(head -c 4 /dev/urandom | wc -c)" = 4 ] && [ "$(echo echo | sh /dev/stdin)" = '' ]
      mkdir /dev/shm/in
      if head -c ${64 * mebibyte} /dev/zero >/dev/kit; then echo FILLED; fi
      echo END`,
    );
    expect(lines).toEqual([expect.stringContaining('No space left on device'), 'END']);
  });

  test(`${name}: a package that fills the disk with deleted files is stopped`, async () => {
    const { error, lines } = await run(caller(), hiddenFiller(256 * mebibyte), {
      hiddenBytes: 64 * mebibyte,
    });
    expect(error).toEqual({
      code: 'build-failed',
      message:
        'The package was stopped: the file system lost more than 64 MiB of free space to files that its directory does not show.',
    });
    expect(lines).not.toContain('FILLED');
  });

  test(`${name}: a package that fills the disk while its directories move is stopped`, async () => {
    const { error, lines } = await run(caller(), racingFiller(256 * mebibyte), { diskBytes: 64 * mebibyte });
    expect(error).toEqual({
      code: 'build-failed',
      message: 'The package wrote more than 64 MiB and was stopped.',
    });
    expect(lines).not.toContain('FILLED');
  });
}

describe.runIf(canMount)('root', () => {
  suite('root', () => ({ uid: 0, words: (script, job) => [process.execPath, script, job] }));
});

describe.runIf(canBeOrdinary)('an ordinary user', () => {
  let caller: Caller;
  beforeAll(async () => {
    const folder = join(place, 'user');
    await mkdir(folder, { mode: 0o755 });
    const user = ordinaryUser(folder);
    caller = { uid: user.uid, words: (script, job) => user.node(script, job) };
  });
  suite('an ordinary user', () => caller);
});
