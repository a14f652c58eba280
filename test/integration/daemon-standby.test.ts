// Two daemons, one database: one works, the other stands by and takes over.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { statusOf } from '../support/daemon.ts';
import { createImago, type Imago, type RunOptions, recipe } from '../support/imago.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let server: TestPostgres;
let first: Imago;
let second: Imago;
let options: RunOptions;

beforeAll(async () => {
  server = await startPostgres();
  [first, second] = await Promise.all([createImago(), createImago()]);
  const env = {
    IMAGO_DATABASE_URL: await server.freshDatabase(),
    IMAGO_SIM_WORLD: join(first.folder, 'world.db'),
  };
  options = { env };
});

afterAll(async () => {
  await Promise.all([first?.end(), second?.end()]);
  await server?.stop();
});

test('the second stands by: it reads and refuses to write', async () => {
  const recipeFile = await first.writeFile('imago.yaml', recipe);
  await first.json(['build', recipeFile], options);
  await second.json(['up'], options);
  expect((await statusOf(first)).daemon).toMatchObject({ state: 'active', epoch: 1 });
  expect((await statusOf(second)).daemon.state).toBe('standby');
  expect(await second.json(['image', 'list'])).toMatchObject({ items: [{ name: 'node' }] });
  const refused = await second.run(['build', recipeFile]);
  expect(refused.code).toBe(4);
  expect(refused.err).toMatch(/^hint: .*active daemon/m);
});

test('nothing of our own PostgreSQL is started', async () => {
  expect((await statusOf(first)).database).toMatchObject({ embedded: false, state: 'ready' });
  expect(existsSync(join(first.home, 'postgres', 'data'))).toBe(false);
});

test('the first is killed: the second takes over, and the first stands by when it is back', async () => {
  const { daemon } = await statusOf(first);
  process.kill(daemon.pid, 'SIGKILL');
  const active = await until('the second is active', async () => {
    const status = await statusOf(second);
    return status.daemon.state === 'active' && status;
  });
  expect(active.daemon.epoch).toBe(2);
  await second.json(['build', join(first.folder, 'imago.yaml')]);
  await first.json(['up'], options);
  expect((await statusOf(first)).daemon.state).toBe('standby');
});

test('the active one goes down in peace: the other is active at once', async () => {
  await second.json(['down']);
  await until('the first is active', async () => (await statusOf(first)).daemon.state === 'active');
  expect(await first.json(['image', 'list'])).toMatchObject({ items: [{ name: 'node' }] });
});

test('the database goes away for a while: the daemon waits for it in its own process, and tells why', async () => {
  const { daemon } = await statusOf(first);
  await server.kill();
  const refused = await first.run(['image', 'list']);
  expect(refused.code).toBe(5);
  expect(refused.err).toMatch(/^error: .*database/m);
  await server.start();
  await until('it answers again', async () => (await statusOf(first)).database.state === 'ready');
  expect((await statusOf(first)).daemon.pid).toBe(daemon.pid);
  expect(await first.json(['image', 'list'])).toMatchObject({ items: [{ name: 'node' }] });
});
