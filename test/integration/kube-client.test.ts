// The Kubernetes client against a server that responds as each test requests: errors, retries, pages, watches, and sign-in.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/host/system-clock.ts';
import { type KubeClient, kubeClient } from '../../src/kube/client/client.ts';
import { inClusterConnection, readKubeconfig } from '../../src/kube/client/kubeconfig.ts';
import { openKubeClient } from '../../src/kube/cluster.ts';
import { follow } from '../../src/kube/follow.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

const retry = { attempts: 3, firstDelayMs: 1, longestDelayMs: 20 };
let folder: string;
let server: Server;
let address: string;
let handler: Handler;
let asked: string[];
let client: KubeClient | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-kube-'));
  asked = [];
  server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    asked.push(`${request.method} ${url.pathname}${url.search}`);
    handler(request, response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  client?.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

function send(response: ServerResponse, code: number, body: object, headers: Record<string, string> = {}) {
  response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function kubeconfig(user: object = { token: 'secret-token' }, cluster: object = {}): Promise<string> {
  const path = join(folder, 'config');
  await writeFile(
    path,
    JSON.stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [{ name: 'test', cluster: { server: address, ...cluster } }],
      users: [{ name: 'test', user }],
    }),
  );
  return path;
}

async function open(user?: object): Promise<KubeClient> {
  client = kubeClient(await readKubeconfig(await kubeconfig(user)), {
    retry,
    pageSize: 2,
    timeoutMs: 10_000,
  });
  return client;
}

const node = (name: string) => ({ metadata: { name } });

describe('requests', () => {
  test('carry the token, and read absence as undefined', async () => {
    handler = (request, response) => {
      expect(request.headers.authorization).toBe('Bearer secret-token');
      send(response, 404, { message: 'not found' });
    };
    expect(await (await open()).get('nodes', { name: 'a' })).toBeUndefined();
  });

  test('are repeated when the server is overloaded, after the time that it asks for', async () => {
    let calls = 0;
    handler = (_, response) => {
      calls += 1;
      if (calls < 3) send(response, 429, { message: 'slow down' }, { 'retry-after': '1' });
      else send(response, 200, node('a'));
    };
    expect(await (await open()).get('nodes', { name: 'a' })).toEqual(node('a'));
    expect(calls).toBe(3);
  });

  test('report the verb and the resource that the credentials do not allow', async () => {
    handler = (_, response) => send(response, 403, { message: 'User "x" cannot patch resource "nodes"' });
    const patching = (await open()).patch('nodes', { name: 'a' }, { spec: {} });
    await expect(patching).rejects.toMatchObject({
      code: 'cluster-forbidden',
      message: expect.stringContaining('do not allow patch of nodes'),
      details: { verb: 'patch', resource: 'nodes' },
    });
    expect(asked).toHaveLength(1);
  });

  test('report a server that is not running, without the token', async () => {
    const path = await kubeconfig({ token: 'secret-token' }, { server: 'http://127.0.0.1:9' });
    client = await openKubeClient({ kubeconfig: path }, { retry });
    const error = await client.list('nodes').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'cluster-unreachable', retryable: true });
    expect(JSON.stringify(error)).not.toContain('secret-token');
    expect(String(error)).toContain('http://127.0.0.1:9 cannot be reached');
  });

  test('have a deadline', async () => {
    handler = () => undefined;
    client = kubeClient(await readKubeconfig(await kubeconfig()), {
      retry: { ...retry, attempts: 1 },
      timeoutMs: 50,
    });
    await expect(client.get('nodes', { name: 'a' })).rejects.toMatchObject({
      code: 'cluster-unreachable',
      message: expect.stringContaining('no response within 0.05 s'),
    });
  });

  test('end when the caller cancels', async () => {
    const abort = new AbortController();
    handler = () => abort.abort();
    const reading = (await open()).get('nodes', { name: 'a' }, { signal: abort.signal });
    await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('escape names', async () => {
    handler = (_, response) => send(response, 404, {});
    await (await open()).get('pods', { namespace: 'n', name: '../../nodes/a?x' });
    expect(asked).toEqual(['GET /api/v1/namespaces/n/pods/..%2F..%2Fnodes%2Fa%3Fx']);
  });

  test('return the response to an eviction unchanged, and send it once', async () => {
    handler = (request, response, url) => {
      if (url.pathname === '/version') return send(response, 200, { gitVersion: 'v1.36.3' });
      if (url.pathname === '/api/v1')
        return send(response, 200, {
          resources: [{ name: 'pods/eviction', kind: 'Eviction', group: 'policy', version: 'v1' }],
        });
      let body = '';
      request.on('data', (part) => {
        body += part;
      });
      request.on('end', () => {
        expect(JSON.parse(body)).toEqual({
          ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace: 'n', name: 'p' } },
          deleteOptions: { gracePeriodSeconds: 5, preconditions: { uid: 'u' } },
        });
        send(response, 429, { message: 'budget' });
      });
    };
    const status = await (await open()).evict(
      { namespace: 'n', name: 'p' },
      { uid: 'u', gracePeriodSeconds: 5 },
    );
    expect(status).toMatchObject({ code: 429, message: 'budget' });
    expect(asked.filter((line) => line.startsWith('POST'))).toHaveLength(1);
  });

  test.each(['v1.24.17', 'v0.9.1', 'unknown'])('refuse a server of version %s', async (gitVersion) => {
    handler = (_, response) => send(response, 200, { gitVersion });
    await expect((await open()).discover()).rejects.toMatchObject({ code: 'cluster-version-unsupported' });
  });
});

describe('lists', () => {
  test('read all pages, and start again once if the snapshot expired', async () => {
    let isExpired = true;
    handler = (_, response, url) => {
      const next = url.searchParams.get('continue');
      const metadata = { resourceVersion: '7' };
      if (next === null)
        return send(response, 200, {
          items: [node('a'), node('b')],
          metadata: { ...metadata, continue: 'x' },
        });
      if (isExpired) {
        isExpired = false;
        return send(response, 410, { message: 'expired' });
      }
      send(response, 200, { items: [node('c')], metadata: { ...metadata, continue: '' } });
    };
    const { items, resourceVersion } = await (await open()).list('nodes');
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    expect(resourceVersion).toBe('7');
    expect(asked).toHaveLength(4);
  });
});

describe('watches', () => {
  test('resume from the last bookmark, and list again only when the server has forgotten it', async () => {
    const watches: ((response: ServerResponse) => void)[] = [
      (response) => {
        response.write(event('ADDED', 'b', '8'));
        response.write(event('BOOKMARK', '', '9'));
        // An event that was interrupted in the middle is not used.
        response.end(event('DELETED', 'b', '10').slice(0, 20));
      },
      (response) => response.end(event('DELETED', 'b', '10')),
      (response) => response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 410 } })}\n`),
      (response) => response.end(event('MODIFIED', 'a', '12')),
    ];
    handler = (_, response, url) => {
      if (url.searchParams.get('watch') === '1') {
        response.writeHead(200);
        response.flushHeaders();
        watches.shift()?.(response);
      } else send(response, 200, { items: [node('a')], metadata: { resourceVersion: '7' } });
    };
    const seen: string[] = [];
    const abort = new AbortController();
    const clock = { ...systemClock, sleep: async () => undefined };
    for await (const change of follow(await open(), clock, 'nodes', { signal: abort.signal })) {
      seen.push(change.type === 'list' ? 'list' : `${change.type} ${change.object.metadata.name}`);
      if (change.type === 'modified') abort.abort();
    }
    expect(seen).toEqual(['list', 'added b', 'deleted b', 'list', 'modified a']);
    const versions = asked.flatMap((line) => /watch=1.*resourceVersion=(\d+)/.exec(line)?.[1] ?? []);
    expect(versions).toEqual(['7', '9', '10', '7']);
  });

  test('end with an error that a retry cannot help', async () => {
    handler = (_, response, url) =>
      url.searchParams.get('watch') === '1'
        ? send(response, 403, { message: 'no' })
        : send(response, 200, { items: [], metadata: { resourceVersion: '7' } });
    const changes = follow(await open(), systemClock, 'nodes');
    await changes.next();
    await expect(changes.next()).rejects.toMatchObject({ details: { verb: 'watch', resource: 'nodes' } });
  });
});

function event(type: string, name: string, resourceVersion: string): string {
  return `${JSON.stringify({ type, object: { metadata: { name, resourceVersion } } })}\n`;
}

describe('sign-in', () => {
  const accept =
    (good: () => string): Handler =>
    (request, response) =>
      request.headers.authorization === `Bearer ${good()}`
        ? send(response, 200, node('a'))
        : send(response, 401, { message: 'Unauthorized' });

  test('reads a token file again when the server rejects its token', async () => {
    const file = join(folder, 'token');
    await writeFile(file, 'first\n');
    let good = 'first';
    handler = accept(() => good);
    const api = await open({ tokenFile: 'token' });
    expect(await api.get('nodes', { name: 'a' })).toEqual(node('a'));
    good = 'second';
    await writeFile(file, 'second\n');
    expect(await api.get('nodes', { name: 'a' })).toEqual(node('a'));
    good = 'third';
    await expect(api.get('nodes', { name: 'a' })).rejects.toMatchObject({ code: 'cluster-unauthorized' });
  });

  async function plugin(lines: string): Promise<object> {
    const path = join(folder, 'sign-in');
    await writeFile(path, `#!/bin/sh\n${lines}\n`);
    await chmod(path, 0o755);
    const apiVersion = 'client.authentication.k8s.io/v1';
    return { exec: { apiVersion, command: './sign-in', interactiveMode: 'Never', provideClusterInfo: true } };
  }

  test('runs the program that the kubeconfig names, once for many requests', async () => {
    handler = accept(() => 'from-program');
    const api = await open(
      await plugin(`echo run >> '${folder}/runs'
printf '%s' "$KUBERNETES_EXEC_INFO" > '${folder}/info'
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-program"}}'`),
    );
    await Promise.all([1, 2, 3].map(() => api.get('nodes', { name: 'a' })));
    expect(await readFile(join(folder, 'runs'), 'utf8')).toBe('run\n');
    expect(JSON.parse(await readFile(join(folder, 'info'), 'utf8'))).toMatchObject({
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: address } },
    });
  });

  test.each([
    ['exit 3', /sign-in failed.*exit|sign-in.*3/],
    ['echo hello', /response is invalid/],
    [
      `echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"x"}}'`,
      /v1beta1/,
    ],
    [
      `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}'`,
      /neither a token/,
    ],
  ])('reports a program that fails: %s', async (lines, message) => {
    const api = await open(await plugin(lines));
    await expect(api.get('nodes', { name: 'a' })).rejects.toMatchObject({
      code: 'cluster-unauthorized',
      message: expect.stringMatching(message),
    });
  });

  test('uses the service account in a cluster, and reports that there is none outside', async () => {
    await writeFile(join(folder, 'token'), 'account');
    await writeFile(join(folder, 'ca.crt'), 'CA');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const connection = await inClusterConnection(env, folder);
    expect(connection).toMatchObject({ ca: 'CA', server: new URL('https://[fd00::1]') });
    const signal = new AbortController().signal;
    expect(await connection?.signIn.get(signal)).toMatchObject({ authorization: 'Bearer account' });
    expect(await inClusterConnection({}, folder)).toBeUndefined();
  });
});

describe('a kubeconfig', () => {
  test.each<[string, object, object, RegExp]>([
    ['without a valid server', {}, { server: 'localhost:6443' }, /cluster\.server/],
    ['with a missing file', {}, { 'certificate-authority': 'none.pem' }, /none\.pem/],
    [
      'with half a certificate',
      { 'client-certificate-data': 'eA==' },
      {},
      /only one of client certificate and key/,
    ],
    ['with a removed sign-in', { 'auth-provider': { name: 'azure' } }, {}, /auth-provider/],
    [
      'with a sign-in that needs a terminal',
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x', interactiveMode: 'Always' } },
      ...([{}, /needs a terminal/] as const),
    ],
  ])('%s is refused with the field', async (_, user, cluster, message) => {
    await expect(readKubeconfig(await kubeconfig(user, cluster))).rejects.toMatchObject({
      code: 'cluster-config-invalid',
      message: expect.stringMatching(message),
    });
  });

  test('without the context is refused, as are other files', async () => {
    await expect(readKubeconfig(await kubeconfig(), 'prod')).rejects.toThrow(/no context named prod/);
    await expect(readKubeconfig(join(folder, 'none'))).rejects.toMatchObject({
      code: 'cluster-config-invalid',
    });
    await writeFile(join(folder, 'broken'), 'a: [');
    await expect(readKubeconfig(join(folder, 'broken'))).rejects.toMatchObject({
      code: 'cluster-config-invalid',
    });
  });
});
