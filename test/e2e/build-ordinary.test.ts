// A shipped example, its recipe as it is committed, locked and built by an ordinary user with empty caches by the
// commands of the documentation. Needs a Debian mirror.
import { spawn } from 'node:child_process';
import { chmod, chown, cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, type OrdinaryUser, ordinaryUser } from '../support/ordinary-user.ts';
import { patience } from '../support/speed.ts';

/** A cold build, which shares the machine with all other tests. */
vi.setConfig({ testTimeout: patience(1_800_000) });

const example = resolve(import.meta.dirname, '../../examples/plain');
let folder: string;
let user: OrdinaryUser;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-ordinary-'));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function imago(...words: readonly string[]) {
  const [program, ...args] = user.node('src/cli/main.ts', ...words);
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const env = {
    PATH,
    LANG,
    NO_COLOR: '1',
    IMAGO_HOME: join(user.home, 'state'),
    IMAGO_PROVIDER: 'local',
    IMAGO_AGENT: 'none',
  };
  return collect(
    spawn(program, args, { cwd: join(user.home, 'plain'), env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

async function json<T>(...words: readonly string[]): Promise<T> {
  const { code, out, err } = await imago(...words, '--json');
  expect(code, `${words.join(' ')}: ${out}${err}`).toBe(0);
  return JSON.parse(out) as T;
}

interface Built {
  readonly image: string;
  readonly digest: string;
  readonly reused: boolean;
  readonly operation: string;
}

describe.runIf(canBeOrdinary)('an ordinary user', () => {
  beforeAll(async () => {
    user = ordinaryUser(folder);
    await cp(example, join(user.home, 'plain'), { recursive: true });
    for (const path of ['plain', 'plain/imago.yaml']) await chown(join(user.home, path), user.uid, user.uid);
  });
  afterAll(async () => {
    await imago('down');
  });

  test('locks and builds an example from nothing, and leaves nothing half made', async () => {
    const locked = await json<{ changed: boolean; locks: { inputs: number }[] }>('recipe', 'lock');
    expect(locked).toMatchObject({ changed: true, locks: [{ inputs: expect.any(Number) }] });
    const built = await json<Built>('build');
    expect(built).toMatchObject({ image: 'plain', reused: false });
    const { logs } = await json<{ logs: { line: string }[] }>('op', 'show', built.operation, '--logs');
    const lines = logs.map(({ line }) => line);
    expect(lines).toContainEqual(expect.stringMatching(/^base: done in /));
    expect(lines.filter((line) => line.endsWith(': reused'))).toEqual([]);

    const notes = await json<{ packages: { name: string }[] }>('image', 'notes', 'plain');
    expect(notes.packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['containerd', 'runc']));
    expect(await json<Built>('build')).toMatchObject({ digest: built.digest, reused: true });
    const checked = await imago('recipe', 'lock', '--check');
    expect(checked.code, checked.err).toBe(0);

    const cache = join(user.home, '.cache', 'imago', 'build');
    expect(await readdir(join(cache, 'work'))).toEqual([]);
    expect((await stat(join(cache, 'content'))).uid).toBe(user.uid);
  });
});
