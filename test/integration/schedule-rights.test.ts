// A schedule acts with its owner's rights, and ends with them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiBench, makeVersions, openApi } from '../support/api-bench.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let api: ApiBench;
let reference: string;

beforeAll(async () => {
  bench = await startStoreBench();
  api = await openApi(bench);
  const [version] = await makeVersions(api, 1);
  reference = `node:${version}`;
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

const everySecond = '* * * * * *';
const yearly = '0 0 1 1 *';

async function schedule(owner: string, name: string, cron: string): Promise<void> {
  const client = await api.clientOf('publisher', owner);
  const body = { name, cron, kind: 'test', subject: 'image/node', input: { reference } };
  await client.call('createSchedule', { body });
}

async function shown(name: string) {
  const { items } = await api.client.call('listSchedules');
  return items.find((item) => item.name === name);
}

async function tokensOf(owner: string) {
  const { items } = await api.client.call('listTokens', { query: { limit: 1000 } });
  return items.filter((token) => token.owner === owner);
}

async function revokeAll(owner: string): Promise<void> {
  for (const { id } of await tokensOf(owner)) await api.client.call('revokeToken', { path: { token: id } });
}

test('revoking the last token of the owner stops the schedule, and the list says why', async () => {
  await schedule('ann', 'of-ann', yearly);
  await revokeAll('ann');
  expect(await shown('of-ann')).toMatchObject({ stoppedWhy: 'ann has no valid token.' });
  expect(await shown('of-ann')).not.toHaveProperty('nextAt');
  const events = await api.store.events.list({ after: 0, limit: 1000, subject: 'schedule/of-ann' });
  expect(events).toMatchObject([{ type: 'schedule.stopped', data: { why: 'ann has no valid token.' } }]);
});

test('a schedule goes on if the owner has another token with the role', async () => {
  await api.token('publisher', 'bob');
  await schedule('bob', 'of-bob', yearly);
  const [first] = await tokensOf('bob');
  await api.client.call('revokeToken', { path: { token: first?.id ?? '' } });
  expect(await shown('of-bob')).not.toHaveProperty('stoppedAt');
});

test('a smaller role than the operation needs stops it too', async () => {
  await schedule('cid', 'of-cid', yearly);
  await api.token('viewer', 'cid');
  const own = (await tokensOf('cid')).filter(({ role }) => role === 'publisher');
  for (const { id } of own) await api.client.call('revokeToken', { path: { token: id } });
  expect(await shown('of-cid')).toMatchObject({
    stoppedWhy: 'cid has the role viewer; test needs publisher.',
  });
});

test('a token that expired is noticed when the schedule fires: it starts nothing and stops', async () => {
  await schedule('dan', 'of-dan', everySecond);
  const expired = { expires_at: new Date(Date.now() - 3_600_000).toISOString() };
  await api.store.database.write(({ tables }) =>
    tables.updateTable('tokens').set(expired).where('owner', '=', 'dan').execute(),
  );
  await expect.poll(() => shown('of-dan'), { timeout: patience(30_000) }).toHaveProperty('stoppedAt');
  const last = (await shown('of-dan'))?.lastOperation;
  await schedule('eve', 'of-eve', everySecond);
  await expect.poll(() => shown('of-eve'), { timeout: patience(30_000) }).toHaveProperty('lastOperation');
  expect((await shown('of-dan'))?.lastOperation).toBe(last);
  await api.client.call('deleteSchedule', { path: { schedule: 'of-eve' } });
});

test('creating it again, with rights, starts it again', async () => {
  await schedule('fay', 'of-fay', yearly);
  await revokeAll('fay');
  expect(await shown('of-fay')).toHaveProperty('stoppedAt');
  await schedule('fay', 'of-fay', yearly);
  expect(await shown('of-fay')).not.toHaveProperty('stoppedAt');
  expect(await shown('of-fay')).toHaveProperty('nextAt');
});
