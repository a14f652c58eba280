// A token that is revoked ends everything that it holds open, within seconds, and nothing of others.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/api/client/client.ts';
import { type ApiBench, finish, makeVersions, openApi } from '../support/api-bench.ts';
import { type FakeAccess, fakeAccess } from '../support/fake-access.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let api: ApiBench;
let access: FakeAccess;
let node: string;

beforeAll(async () => {
  bench = await startStoreBench();
  const waiting = async function* (_: string, __: number, signal: AbortSignal) {
    yield 'waiting';
    if (!signal.aborted) await once(signal, 'abort');
  };
  access = Object.assign(fakeAccess(), { followConsole: waiting });
  api = await openApi(bench);
  const [version] = await makeVersions(api, 1);
  const pool = { name: 'web', reference: `node:${version}`, capacity: 1 };
  await finish(api, await api.client.call('createPool', { body: pool }));
  Object.assign(api.sim, { access });
  node = (await api.client.call('listNodes')).items[0]?.name ?? '';
});
afterAll(async () => {
  await api.close();
  await bench.stop();
});

async function revoke(owner: string): Promise<void> {
  const { items } = await api.client.call('listTokens', { query: { limit: 1000 } });
  const id = items.find((token) => token.owner === owner)?.id ?? '';
  await api.client.call('revokeToken', { path: { token: id } });
}

/** Opens a stream and reads its first chunk; the rest is read when the test awaits it. */
async function opened(content: AsyncIterable<unknown>): Promise<{ readonly rest: Promise<string> }> {
  const chunks = content[Symbol.asyncIterator]();
  await chunks.next();
  const reading = async () => {
    for (;;) if ((await chunks.next()).done) return 'ended';
  };
  return { rest: reading().catch((error: { code: string }) => error.code) };
}

const streams: Readonly<Record<string, (client: Client) => Promise<{ readonly rest: Promise<string> }>>> = {
  async shell(client) {
    const typed = new PassThrough();
    typed.write(`${JSON.stringify({ input: Buffer.from('hi').toString('base64') })}\n`);
    return opened(await client.duplex('openShell', { path: { node } }, typed));
  },
  async console(client) {
    const { content } = await client.download('followConsole', { path: { node }, query: { lines: 1 } });
    return opened(content);
  },
  events: async (client) => opened(client.events({ after: 0 })),
};

describe.each([
  ['shell', 'daemon-connection-lost'],
  ['console', 'daemon-connection-lost'],
  ['events', 'api-unauthenticated'],
] as const)('an open %s', (name, code) => {
  test('is cut when its token is revoked, and one of another token is not', async () => {
    const open = streams[name];
    const mine = await open?.(await api.clientOf('admin', `${name}-mine`));
    const other = await open?.(await api.clientOf('admin', `${name}-other`));
    await revoke(`${name}-mine`);
    expect(await mine?.rest).toBe(code);
    expect(await Promise.race([other?.rest, api.client.call('version').then(() => 'open')])).toBe('open');
    await revoke(`${name}-other`);
    expect(await other?.rest).toBe(code);
    await expect.poll(() => access.open).toBe(0);
  });
});

test('a stream without a token stays open', async () => {
  const { rest } = await opened(
    (await api.client.download('followConsole', { path: { node }, query: { lines: 1 } })).content,
  );
  const mine = await streams.console?.(await api.clientOf('admin', 'gone'));
  await revoke('gone');
  await mine?.rest;
  expect(await Promise.race([rest, api.client.call('version').then(() => 'open')])).toBe('open');
});
