import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type StorePaths, storePaths } from './paths.ts';
import { pinnedDigests, startSession, sweepDeadSessions } from './session.ts';

const some = `sha256:${'1'.repeat(64)}` as const;
const hour = 3_600_000;
const limits = { temporaryAgeMs: 60_000, partialAgeMs: 2 * hour };
let paths: StorePaths;

beforeEach(async () => {
  paths = storePaths(await mkdtemp(join(tmpdir(), 'imago-session-')));
  for (const folder of [paths.sessions, paths.temporary, paths.pins, paths.partial]) {
    await mkdir(folder, { recursive: true });
  }
});
afterEach(() => rm(paths.root, { recursive: true, force: true }));

/** What a killed process leaves: its files, and nobody who holds its lock. */
async function leaveBehind(): Promise<string> {
  const id = '00000000-0000-4000-8000-000000000000';
  await writeFile(join(paths.sessions, id), '');
  await writeFile(join(paths.pins, `${id}.0`), `${some}\n`);
  await writeFile(join(paths.temporary, `${id}.1`), 'half a blob');
  return id;
}

describe('a session', () => {
  test('what it pinned is pinned until released', async () => {
    const session = startSession(paths);
    const hold = session.hold();
    hold.pin([some]);
    hold.pin([some]);
    expect(await pinnedDigests(paths)).toEqual(new Set([some]));
    hold.release();
    hold.release();
    expect(await pinnedDigests(paths)).toEqual(new Set());
    session.close();
    expect(await readdir(paths.sessions)).toEqual([]);
  });

  test('what a dead session pinned does not count', async () => {
    await leaveBehind();
    expect(await pinnedDigests(paths)).toEqual(new Set());
  });

  test('closing lets go of all that it held', async () => {
    const session = startSession(paths);
    session.hold().pin([some]);
    session.close();
    expect(await readdir(paths.pins)).toEqual([]);
  });

  test('what a dead session left is swept once it is old enough, that of a living one never', async () => {
    await leaveBehind();
    const alive = startSession(paths);
    const mine = alive.temporaryPath();
    await writeFile(mine, 'being written');
    await sweepDeadSessions(paths, limits, Date.now());
    expect((await readdir(paths.temporary)).length).toBe(2);
    const freed = await sweepDeadSessions(paths, limits, Date.now() + hour);
    expect(freed).toBe('half a blob'.length + some.length + 1);
    expect(existsSync(mine)).toBe(true);
    expect(await readdir(paths.sessions)).toEqual([alive.id]);
    expect(await readdir(paths.pins)).toEqual([]);
    alive.close();
  });

  test('downloads that nobody went on with are given up later', async () => {
    await writeFile(join(paths.partial, 'a'.repeat(64)), 'some bytes');
    await sweepDeadSessions(paths, limits, Date.now() + hour);
    expect((await readdir(paths.partial)).length).toBe(1);
    await sweepDeadSessions(paths, limits, Date.now() + 3 * hour);
    expect((await readdir(paths.partial)).length).toBe(0);
  });
});
