// A registry that loses connections, is overloaded, or lies: transfers go on where they stopped, and nothing
// wrong is ever taken in.
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { repairDisk } from '../../src/oci/disks/repair-disk.ts';
import { verifyDisk } from '../../src/oci/disks/verify-disk.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import { attach } from '../../src/oci/layout/referrers.ts';
import { RegistryClient, type RegistryOptions } from '../../src/oci/registry/client.ts';
import { pull, registrySource } from '../../src/oci/registry/pull.ts';
import { push } from '../../src/oci/registry/push.ts';
import { startRegistry, type TestRegistry } from '../support/docker-registry.ts';
import { type FaultyRegistry, startFaultyRegistry } from '../support/faulty-registry.ts';
import { diskOf, forgeVersion, noise } from '../support/test-disks.ts';
import { testCertificate, testKey } from '../support/tls-fixture.ts';

const retry = { attempts: 5, firstDelayMs: 5, longestDelayMs: 50 };
const disk = diskOf([
  { kind: 'noise', seed: 1, blocks: 1500 },
  { kind: 'text', seed: 2, blocks: 300 },
]);

let folder = '';
let registry: TestRegistry;
let door: FaultyRegistry;
let store: DiskStore;
let digest: Digest;
let size = 0;
let repositories = 0;
const clients: RegistryClient[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-faults-'));
  registry = await startRegistry();
  store = await openDiskStore(join(folder, 'store'));
  await writeFile(join(folder, 'disk'), disk);
  const stored = await putDisk(store, join(folder, 'disk'));
  digest = stored.digest;
  size = stored.storedBytes;
});

afterAll(async () => {
  await store?.close();
  await registry?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  door = await startFaultyRegistry(registry.host);
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await door[Symbol.asyncDispose]();
});

function clientOf(options: Partial<RegistryOptions> = {}): RegistryClient {
  const client = new RegistryClient({ registry: door.host, retry, ...options });
  clients.push(client);
  return client;
}

function target(client: RegistryClient) {
  repositories += 1;
  return { client, repository: `faults/${repositories}`, tag: 'v1' };
}

/** Fails the first requests of a kind, as often as said. */
function atFirst(
  times: number,
  matches: RegExp,
  fault: Parameters<typeof faultOf>[0],
): FaultyRegistry['fault'] {
  let left = times;
  return ({ method, path }) => {
    if (left === 0 || !matches.test(`${method} ${path}`)) return undefined;
    left -= 1;
    return faultOf(fault);
  };
}

function faultOf(fault: NonNullable<ReturnType<FaultyRegistry['fault']>>) {
  return fault;
}

async function pushWhole(): Promise<{ repository: string; client: RegistryClient }> {
  const client = clientOf();
  const to = target(client);
  await push(store, digest, to);
  return { repository: to.repository, client };
}

async function withEmptyStore<T>(name: string, work: (store: DiskStore) => Promise<T>): Promise<T> {
  const other = await openDiskStore(join(folder, name));
  try {
    return await work(other);
  } finally {
    await other.close();
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

describe('a registry that cannot be talked to', () => {
  async function refusal(server: Server): Promise<unknown> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      return await clientOf({ registry: host, plainHttp: false })
        .manifest('any', 'v1')
        .catch((error: unknown) => error);
    } finally {
      server.close();
    }
  }

  test('for its certificate is not tried again, and the remedy is named', async () => {
    let calls = 0;
    const server = createTlsServer({ key: testKey, cert: testCertificate });
    server.on('connection', () => {
      calls += 1;
    });
    expect(await refusal(server)).toMatchObject({
      ...{ code: 'registry-failed', retryable: false },
      hint: expect.stringMatching(/NODE_EXTRA_CA_CERTS/),
    });
    expect(calls).toBe(1);
  });

  test('without TLS is told as such', async () => {
    const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await refusal(plain)).toMatchObject({
      ...{ code: 'registry-failed', retryable: false },
      hint: expect.stringMatching(/does not speak TLS/),
    });
  });

  test('as nothing listens there is tried again, and the remedy is named', async () => {
    const error = await clientOf({ registry: '127.0.0.1:1' })
      .manifest('any', 'v1')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ retryable: true, hint: expect.stringMatching(/Nothing listens at 127/) });
  });
});

describe('a push', () => {
  test('to a registry that gives an upload up with its connection begins that blob again', async () => {
    const client = clientOf();
    door.fault = atFirst(2, /^PATCH/, { kind: 'cut-request', after: 1_000_000 });
    const to = target(client);
    await push(store, digest, to);
    expect(door.bytes.sent).toBeLessThan(size + 2_100_000);
    await expect(client.manifest(to.repository, 'v1')).resolves.toMatchObject({ digest });
  });

  test('goes on from where the connection was lost, and sends little twice', async () => {
    const client = clientOf();
    door.fault = atFirst(2, /^PATCH/, { kind: 'cut-request', after: 2_000_000, kept: true });
    const to = target(client);
    await push(store, digest, to);
    expect(door.requests.filter((line) => line.startsWith('PATCH')).length).toBe(3);
    expect(door.bytes.sent).toBeLessThan(size * 1.1);
    await expect(client.manifest(to.repository, 'v1')).resolves.toMatchObject({ digest });
  });

  test.each([
    ['500', { kind: 'status', status: 500 }],
    ['503 with a time to wait', { kind: 'status', status: 503, headers: { 'retry-after': '0' } }],
    ['429', { kind: 'status', status: 429 }],
    ['no answer at all', { kind: 'cut-answer', after: 0 }],
  ] as const)('gets over some requests of every kind that end with %s', async (_, fault) => {
    const client = clientOf();
    const failed = new Set<string>();
    door.fault = ({ method, path }) => {
      const kind = `${method} ${path.replace(/.*\/(blobs|manifests)\/(uploads)?.*/, '$1$2')}`;
      if (failed.has(kind)) return undefined;
      failed.add(kind);
      return fault;
    };
    const to = target(client);
    await push(store, digest, to);
    await expect(client.manifest(to.repository, 'v1')).resolves.toMatchObject({ digest });
    expect(failed.size).toBeGreaterThan(4);
  });

  test('to a registry that only fails ends with its words, and is not seen', async () => {
    const client = clientOf();
    door.fault = ({ method }) =>
      method === 'PATCH' || method === 'PUT' ? { kind: 'status', status: 500 } : undefined;
    const to = target(client);
    await expect(push(store, digest, to)).rejects.toMatchObject({
      code: 'registry-failed',
      message: expect.stringContaining('a test says so'),
    });
    door.fault = () => undefined;
    expect(await client.manifest(to.repository, 'v1')).toBeUndefined();
    await push(store, digest, to);
    expect(await client.manifest(to.repository, 'v1')).toBeDefined();
  });

  test('to a registry that says nothing gives up in time', async () => {
    const client = clientOf({ idleTimeoutMs: 50, retry: { ...retry, attempts: 2 } });
    door.fault = () => ({ kind: 'silence' });
    await expect(push(store, digest, target(client))).rejects.toMatchObject({ code: 'registry-failed' });
  });

  test('that is refused for good is not tried again', async () => {
    const client = clientOf();
    door.fault = ({ method }) => (method === 'POST' ? { kind: 'status', status: 403 } : undefined);
    await expect(push(store, digest, target(client))).rejects.toMatchObject({ code: 'registry-denied' });
    const posts = door.requests.filter((line) => line.startsWith('POST')).length;
    expect(posts).toBeLessThanOrEqual(client.connections);
  });

  test('a part that is too large for the registry is sent in smaller ones', async () => {
    const client = clientOf();
    door.fault = atFirst(1, /^PATCH/, { kind: 'status', status: 413 });
    const to = target(client);
    await push(store, digest, to);
    expect(door.requests.filter((line) => line.startsWith('PATCH')).length).toBeGreaterThan(2);
    await expect(client.manifest(to.repository, 'v1')).resolves.toMatchObject({ digest });
  });
});

describe('a pull', () => {
  test('goes on from where the connection was lost, and receives little twice', async () => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('cut', async (other) => {
      door.bytes.received = 0;
      door.fault = atFirst(3, /^GET .*blobs/, { kind: 'cut-answer', after: 1_500_000 });
      await pull(other, { client, repository, reference: 'v1' });
      expect(door.bytes.received).toBeLessThan(size * 1.1);
      expect((await verifyDisk(other, digest)).damages).toEqual([]);
    });
  });

  test('that was stopped goes on in the next process', async () => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('stopped', async (other) => {
      const noRetry = clientOf({ retry: { ...retry, attempts: 1 } });
      door.fault = ({ path }) =>
        path.includes('/blobs/') ? { kind: 'cut-answer', after: 4_000_000 } : undefined;
      await expect(pull(other, { client: noRetry, repository, reference: 'v1' })).rejects.toMatchObject({
        code: 'registry-failed',
      });
      expect(await other.list()).toEqual([]);
      await other.close();
      door.fault = () => undefined;
      door.bytes.received = 0;
      const next = await openDiskStore(other.root);
      await pull(next, { client, repository, reference: 'v1' });
      expect(door.bytes.received).toBeLessThan(size - 3_900_000);
      expect((await verifyDisk(next, digest)).damages).toEqual([]);
      expect(await readdir(next.paths.partial)).toEqual([]);
      await next.close();
    });
  });

  test('a flipped bit on the way is noticed, and asked for again', async () => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('flip', async (other) => {
      door.fault = atFirst(2, /^GET .*blobs/, { kind: 'flip', position: 77 });
      await pull(other, { client, repository, reference: 'v1' });
      expect((await verifyDisk(other, digest)).damages).toEqual([]);
    });
  });

  test.each([
    ['wrong blobs', /blobs/, { kind: 'flip', position: 5 }, 'registry-corrupt'],
    ['a wrong manifest', /manifests/, { kind: 'flip', position: 5 }, 'registry-corrupt'],
    ['blobs without end', /blobs/, { kind: 'endless' }, 'registry-corrupt'],
    ['a manifest without end', /manifests/, { kind: 'endless' }, 'registry-failed'],
  ] as const)('%s, again and again, are never taken in', async (_, path, fault, code) => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('wrong', async (other) => {
      door.fault = (request) => (path.test(request.path) ? fault : undefined);
      await expect(pull(other, { client, repository, reference: digest })).rejects.toMatchObject({ code });
      expect(await other.list()).toEqual([]);
      door.fault = () => undefined;
      await pull(other, { client, repository, reference: digest });
      expect((await verifyDisk(other, digest)).damages).toEqual([]);
    });
  });

  test('a version whose digests are right, but whose chunks are not what they claim, is refused', async () => {
    const client = clientOf();
    const to = target(client);
    await withEmptyStore('forger', async (forger) => {
      const forged = await forgeVersion(forger, noise('claimed', 40_960), noise('actual', 40_960));
      await push(forger, forged, to);
    });
    await withEmptyStore('victim', async (victim) => {
      const source = { client, repository: to.repository, reference: 'v1' };
      await expect(pull(victim, source)).rejects.toMatchObject({ code: 'registry-corrupt' });
      expect(await victim.list()).toEqual([]);
    });
  });

  test('a damaged store is healed from the registry', async () => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('heal', async (other) => {
      await pull(other, { client, repository, reference: 'v1' });
      for (const name of await readdir(other.paths.blobs)) {
        await writeFile(join(other.paths.blobs, name), 'damaged');
      }
      const { left } = await repairDisk(other, digest, { sources: [registrySource(client, repository)] });
      expect(left.damages).toEqual([]);
    });
  });

  test('a registry with the referrers API is asked by it, page after page, and gets no fallback tag', async () => {
    const attached = await Promise.all(
      ['one', 'two'].map((content) =>
        attach(store, digest, {
          artifactType: 'text/plain',
          parts: [{ mediaType: 'text/plain', bytes: Buffer.from(content) }],
        }),
      ),
    );
    const client = clientOf();
    const to = target(client);
    door.fault = ({ method, path }) =>
      method === 'PUT' && path.includes('/manifests/')
        ? { kind: 'header', name: 'oci-subject', value: digest }
        : undefined;
    await push(store, digest, to);
    expect(await client.manifest(to.repository, `sha256-${digest.slice(7)}`)).toBeUndefined();

    const pageOf = (number: number) =>
      JSON.stringify({ schemaVersion: 2, manifests: attached.slice(number, number + 1) });
    const headers = { 'content-type': 'application/vnd.oci.image.index.v1+json' };
    door.fault = ({ path, query }) => {
      if (!path.includes(`/referrers/${digest}`)) return undefined;
      if (query !== '') return { kind: 'answer', headers, body: pageOf(1) };
      return {
        kind: 'answer',
        headers: { ...headers, link: `<${path}?page=2>; rel="next"` },
        body: pageOf(0),
      };
    };
    await withEmptyStore('pages', async (other) => {
      await pull(other, { client, repository: to.repository, reference: 'v1' });
      expect((await other.referrers(digest)).length).toBe(2);
    });
  });

  test('two at the same time receive everything once', async () => {
    const { repository, client } = await pushWhole();
    await withEmptyStore('both', async (other) => {
      door.bytes.received = 0;
      const source = { client, repository, reference: 'v1' };
      await Promise.all([pull(other, source), pull(other, source)]);
      expect(door.bytes.received).toBeLessThan(size * 1.2);
      expect((await verifyDisk(other, digest)).damages).toEqual([]);
    });
  });
});
