// The same recipe gives the same bytes: built with empty caches by an ordinary user in another folder, with a clock
// that is a day ahead, and from layers that root made some time before. A container image is on the disk.
import { spawn } from 'node:child_process';
import { chmod, chown, copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { type BuildOutcome, runBuild } from '../support/build-child.ts';
import { collect } from '../support/imago.ts';
import { canBeOrdinary, ordinaryUser } from '../support/ordinary-user.ts';
import { sharedBuildCache, writeTestRecipe } from '../support/test-recipe.ts';

const day = 24 * 60 * 60 * 1000;
let folder: string;
let library: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-identical-'));
  await chmod(folder, 0o755);
  await fetchTools({ group: 'disk' });
  const { folder: judges } = await fetchTools({ group: 'judges' });
  library = join(folder, 'libfaketime.so.1');
  await copyFile(join(judges, 'root/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'), library);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.runIf(canBeOrdinary)('two builds of one recipe', () => {
  it('are identical: by root and by an ordinary user, a day apart, in different folders', async () => {
    const recipe = await writeTestRecipe(folder);
    const store = join(folder, 'store');
    const first = await runBuild({ recipe, cache: sharedBuildCache(), store }, () => undefined);

    const user = ordinaryUser(folder);
    const own = join(user.home, 'another folder');
    const recipeOfUser = await writeTestRecipe(own);
    await copyFile(library, join(own, 'libfaketime.so.1'));
    for (const name of [own, ...(await readdir(own, { recursive: true })).map((path) => join(own, path))])
      await chown(name, user.uid, user.uid);
    const job = {
      recipe: recipeOfUser,
      cache: join(own, 'cache'),
      store: join(own, 'store'),
      aheadMs: day,
      clockLibrary: join(own, 'libfaketime.so.1'),
    };
    const [program, ...args] = user.node('test/support/build-child.ts', JSON.stringify(job));
    const { out, err } = await collect(spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] }));
    const second = JSON.parse(out || JSON.stringify({ error: err.slice(-2000) })) as BuildOutcome;

    const clocks = [...err.matchAll(/CLOCK (\d+)/g)].map(([, seconds]) => Number(seconds) * 1000);
    expect(clocks.length).toBeGreaterThan(1);
    expect(Math.min(...clocks)).toBeGreaterThan(Date.now() + day / 2);
    expect(second.steps.filter(({ reused }) => reused)).toEqual([]);
    expect(second.steps.map(({ name }) => name)).toContain('base');
    expect(second.lockDigest).toBe(first.lockDigest);
    expect(second.diskDigest).toBe(first.diskDigest);
    expect(await readdir(join(own, 'cache', 'work'))).toEqual([]);
  });
});
