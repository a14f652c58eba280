// Nodes get the credentials to join their cluster from a server on the loopback of their host, by their identity.
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createJoinServer, type JoinServer } from '../../src/daemon/join-server.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import type { JoinSource } from '../../src/domain/node-config/with-join.ts';
import type { PoolCluster } from '../../src/ports/kube/clusters.ts';

let home: string;
let servers: JoinServer[];
let failure: ImagoError | undefined;
const asked: (readonly [token: string, resource: string])[] = [];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'imago-join-'));
  [servers, failure] = [[], undefined];
});
afterEach(async () => {
  for (const server of servers) await server.close();
  await rm(home, { recursive: true, force: true });
});

function open(): JoinServer {
  const joining = {
    ...{ server: 'https://168.63.129.1:6443', ca: 'CA' },
    async makeToken(node: string) {
      if (failure !== undefined) throw failure;
      return `token of ${node}`;
    },
  };
  const server = createJoinServer({
    home,
    identities: {
      identify(token, resource) {
        asked.push([token, resource]);
        return token === 'good' ? { pool: 'web', node: 'Web-000001' } : undefined;
      },
    },
    clusterOf: async () =>
      ({ joining, nodeName: ({ name }: { name: string }) => name.toLowerCase() }) as unknown as PoolCluster,
    onTrouble: () => undefined,
  });
  servers.push(server);
  return server;
}

/** As a machine asks: by the name of its host, whose certificate it verifies with nothing but `ca`. */
function ask(
  { url, ca }: JoinSource,
  token: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const { port, pathname, hostname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = {
      ...{ host: '127.0.0.1', port, path: pathname, ca, agent: false as const },
      headers: { authorization: `Bearer ${token}` },
      checkServerIdentity: (_: string, { subjectaltname = '' }: { subjectaltname?: string }) =>
        subjectaltname.includes(`IP Address:${hostname}`) ? undefined : new Error('another name'),
    };
    request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

test('a node gets a kubeconfig with a token of its own', async () => {
  const { status, text } = await ask(await open().source('local'), 'good');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    clusters: [{ cluster: { server: 'https://168.63.129.1:6443' } }],
    users: [{ user: { token: 'token of web-000001' } }],
  });
  expect(asked.at(-1)).toEqual(['good', 'imago:cluster/local']);
});

test('whoever has no valid identity for the cluster gets nothing', async () => {
  const source = await open().source('local');
  expect(await ask(source, 'bad')).toEqual({ status: 401, text: '' });
  expect(await ask({ ...source, url: new URL('/', source.url).href }, 'good')).toEqual({
    ...{ status: 404, text: '' },
  });
});

test('a node is told to ask again while the API server is away, and never why', async () => {
  failure = new ImagoError('cluster-unreachable', 'no route to 10.0.0.1', { retryable: true });
  expect(await ask(await open().source('local'), 'good')).toEqual({ status: 503, text: '' });
});

test('the next daemon serves the same address by the same authority, without a new pool', async () => {
  const first = open();
  const source = await first.source('local');
  await first.close();
  const second = open();
  await second.resume();
  expect((await ask(source, 'good')).status).toBe(200);
  expect(await second.source('local')).toEqual(source);
});
