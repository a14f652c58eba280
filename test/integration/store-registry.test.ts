// Versions travel to a real registry and back, and the tools that everyone uses can read, copy and check them.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { verifyDisk } from '../../src/oci/disks/verify-disk.ts';
import { type Digest, digestOf } from '../../src/oci/layout/digest.ts';
import { attach } from '../../src/oci/layout/referrers.ts';
import { RegistryClient } from '../../src/oci/registry/client.ts';
import { planPull, pull } from '../../src/oci/registry/pull.ts';
import { planPush, push } from '../../src/oci/registry/push.ts';
import { keyFolder, type SigningKey } from '../../src/oci/signatures/key-folder.ts';
import { addKey, type Keyring } from '../../src/oci/signatures/keyring.ts';
import {
  attestVersion,
  readSignatures,
  signVersion,
  verifyStatements,
} from '../../src/oci/signatures/sign.ts';
import {
  judge,
  startRegistry,
  startTokenService,
  type TestRegistry,
  testUser,
} from '../support/docker-registry.ts';
import { type DiskPart, diskOf } from '../support/test-disks.ts';
import { verifySignatures } from '../support/verify-signatures.ts';

const january = '2026-01-01T00:00:00Z';
const sbomType = 'application/vnd.cyclonedx+json';
const sbom = Buffer.from('{"bomFormat":"CycloneDX","specVersion":"1.6"}');
const parts = Array.from({ length: 30 }, (_, seed): DiskPart => ({ kind: 'noise', seed, blocks: 60 }));
const disk = diskOf(parts);

let folder = '';
let registry: TestRegistry;
let store: DiskStore;
let digest: Digest;
let key: SigningKey;
let ring: Keyring;
let publicKeyFile = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-registry-test-'));
  registry = await startRegistry();
  store = await openDiskStore(join(folder, 'store'));
  await writeFile(join(folder, 'disk'), disk);
  ({ digest } = await putDisk(store, join(folder, 'disk'), { tag: 'v1' }));
  await attach(store, digest, {
    artifactType: sbomType,
    parts: [{ mediaType: sbomType, bytes: sbom, title: 'sbom.json' }],
  });
  const keys = keyFolder(join(folder, 'keys'));
  const { publicKey } = await keys.create(january, 'passphrase');
  key = await keys.load('2026-02-01T00:00:00Z', 'passphrase');
  ring = await keys.keyring();
  publicKeyFile = join(folder, 'imago.pub');
  await writeFile(publicKeyFile, publicKey);
  await signVersion(store, digest, key, { identity: 'node', at: '2026-02-01T00:00:00Z' });
  await attestVersion(store, digest, key, {
    name: 'node',
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: { buildDefinition: { buildType: 'test' }, runDetails: { builder: { id: 'test' } } },
  });
});

afterAll(async () => {
  await store?.close();
  await registry?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function withClient<T>(work: (client: RegistryClient) => Promise<T>): Promise<T> {
  const client = new RegistryClient({ registry: registry.host });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

async function run(tool: string, ...args: string[]): Promise<string> {
  const env = { COSIGN_PASSWORD: 'cosign', HOME: folder };
  return (await runTool(tool, args, { env, folder })).stdout.toString('utf8');
}

async function pushTo(repository: string): Promise<void> {
  await withClient((client) => push(store, digest, { client, repository, tag: 'v1' }));
}

async function pulled(name: string, repository: string): Promise<DiskStore> {
  const other = await openDiskStore(join(folder, name));
  await withClient((client) => pull(other, { client, repository, reference: 'v1' }, { tag: 'v1' }));
  return other;
}

describe('a version in a registry', () => {
  test('comes back whole, with all that is attached, and can be checked', async () => {
    await pushTo('whole');
    const other = await pulled('whole', 'whole');
    expect((await verifyDisk(other, digest)).damages).toEqual([]);
    expect((await verifySignatures(other, digest, ring)).length).toBe(1);
    expect((await verifyStatements(other, digest, ring)).length).toBe(1);
    const kinds = (await other.referrers(digest)).map((referrer) => referrer.artifactType).sort();
    expect(kinds).toEqual((await store.referrers(digest)).map((referrer) => referrer.artifactType).sort());
    await extractDisk(other, digest, join(folder, 'whole.raw'));
    expect((await readFile(join(folder, 'whole.raw'))).equals(disk)).toBe(true);
    await other.close();
  });

  test('is judged by its signatures before its disk is fetched, and leaves nothing if it is refused', async () => {
    await pushTo('judged');
    const other = await openDiskStore(join(folder, 'judged'));
    const seen: unknown[] = [];
    const pulling = withClient((client) =>
      pull(
        other,
        { client, repository: 'judged', reference: 'v1' },
        {
          async admit(version) {
            const signatures = await readSignatures(version, version.digest, ring);
            seen.push(version.digest, ...signatures.map(({ identity, problem }) => [identity, problem]));
            throw new Error('refused');
          },
        },
      ),
    );
    await expect(pulling).rejects.toThrow('refused');
    expect(seen).toEqual([digest, ['node', undefined]]);
    expect(await other.list()).toEqual([]);
    expect(await readdir(join(folder, 'judged', 'blobs', 'sha256'))).toEqual([]);
    await other.close();
  });

  test('what is planned is what is sent and received, and planning does neither', async () => {
    await withClient(async (client) => {
      const target = { client, repository: 'planned', tag: 'v1' };
      const plan = await planPush(store, digest, target);
      expect(await planPush(store, digest, target)).toEqual(plan);
      const pushed = await push(store, digest, target);
      expect(pushed.blobsSent).toBe(plan.missing.length);
      expect(pushed.bytesSent).toBeGreaterThanOrEqual(plan.bytesToSend);
      expect(pushed.bytesSent).toBeLessThan(plan.bytesToSend + 20_000);
      const again = await push(store, digest, target);
      expect(again).toMatchObject({ blobsSent: 0, blobsPresent: plan.missing.length });
      expect(again.bytesSent).toBeLessThan(20_000);

      const other = await openDiskStore(join(folder, 'planned'));
      const source = { client, repository: 'planned', reference: 'v1' };
      const toReceive = await planPull(other, source);
      expect(await other.list()).toEqual([]);
      expect(await pull(other, source)).toMatchObject({ bytesReceived: toReceive.bytesToReceive });
      expect(await pull(other, source)).toMatchObject({ bytesReceived: 0, blobsReceived: 0 });
      await other.close();
    });
  });

  test('a second version after one part changed sends no more than the store added, plus 1 MB', async () => {
    await pushTo('second');
    const changed = diskOf(parts.toSpliced(12, 1, { kind: 'noise', seed: 777, blocks: 71 }));
    await writeFile(join(folder, 'changed'), changed);
    const second = await putDisk(store, join(folder, 'changed'));
    await withClient(async (client) => {
      const pushed = await push(store, second.digest, { client, repository: 'second', tag: 'v2' });
      expect(pushed.bytesSent).toBeLessThan(second.addedBytes + 1_000_000);
      expect(pushed.bytesSent).toBeLessThan(changed.length / 4);
    });
  });

  test('blobs of another repository are mounted, not sent', async () => {
    await pushTo('team/one');
    await withClient(async (client) => {
      const target = { client, repository: 'team/two', tag: 'v1' };
      const pushed = await push(store, digest, target, { mountFrom: ['nothing-here', 'team/one'] });
      expect(pushed).toMatchObject({ blobsSent: 0 });
      expect(pushed.blobsMounted).toBeGreaterThan(3);
    });
  });

  test('what is not there is not found', async () => {
    await withClient(async (client) => {
      const source = { client, repository: 'nowhere', reference: 'v1' };
      await expect(planPull(store, source)).rejects.toMatchObject({ code: 'registry-not-found' });
      expect(await client.blobSize('nowhere', digest)).toBeUndefined();
    });
  });
});

describe('judged by skopeo', () => {
  test('the layout and the registry hold the same manifest', async () => {
    const skopeo = await judge('skopeo');
    await pushTo('skopeo');
    const fromLayout = await run(skopeo, 'inspect', '--raw', `oci:${store.root}:v1`);
    const fromRegistry = await run(
      skopeo,
      'inspect',
      '--raw',
      '--tls-verify=false',
      `docker://${registry.host}/skopeo:v1`,
    );
    expect(fromLayout).toBe(fromRegistry);
    expect(digestOf(Buffer.from(fromLayout))).toBe(digest);
    expect(fromLayout.length).toBeLessThan(1_000_000);
  });

  test('it copies layout to registry and registry to layout, and the copy is a store', async () => {
    const skopeo = await judge('skopeo');
    await run(
      skopeo,
      'copy',
      '--dest-tls-verify=false',
      `oci:${store.root}:v1`,
      `docker://${registry.host}/copied:v1`,
    );
    const copy = join(folder, 'copied');
    await run(
      skopeo,
      'copy',
      '--src-tls-verify=false',
      `docker://${registry.host}/copied:v1`,
      `oci:${copy}:v1`,
    );
    const other = await openDiskStore(copy);
    expect(await other.resolve('v1')).toBe(digest);
    expect((await verifyDisk(other, digest)).damages).toEqual([]);
    const again = await putDisk(other, join(folder, 'disk'));
    expect(again.sha256).toBe(digestOf(disk));
    await other.close();
  });
});

describe('judged by oras', () => {
  test('it finds and pulls what is attached, in the layout and in the registry', async () => {
    const oras = await requireTool('oras');
    await pushTo('oras');
    const inLayout = await run(oras, 'discover', '--oci-layout', `${store.root}:v1`, '--format', 'json');
    const inRegistry = await run(
      oras,
      'discover',
      '--plain-http',
      `${registry.host}/oras:v1`,
      '--format',
      'json',
    );
    const digestsOf = (text: string) =>
      (JSON.parse(text) as { manifests: { digest: string }[] }).manifests.map((entry) => entry.digest).sort();
    const expected = (await store.referrers(digest)).map((referrer) => referrer.digest).sort();
    expect(digestsOf(inLayout)).toEqual(expected);
    expect(digestsOf(inRegistry)).toEqual(expected);
    const [attached] = await store.referrers(digest, sbomType);
    await run(oras, 'pull', '--plain-http', '-o', folder, `${registry.host}/oras@${attached?.digest}`);
    expect((await readFile(join(folder, 'sbom.json'))).equals(sbom)).toBe(true);
  });

  test('it copies a version with everything attached, and Imago reads the copy', async () => {
    const oras = await requireTool('oras');
    await run(
      oras,
      'cp',
      '-r',
      '--from-oci-layout',
      `${store.root}:v1`,
      '--to-plain-http',
      `${registry.host}/orascopy:v1`,
    );
    const other = await pulled('orascopy', 'orascopy');
    expect((await verifyDisk(other, digest)).damages).toEqual([]);
    expect((await other.referrers(digest)).length).toBe(5);
    await other.close();
  });
});

describe('judged by cosign', () => {
  const insecure = ['--insecure-ignore-tlog', '--allow-http-registry'];

  test('it accepts the signature and the provenance, with this key and with no other', async () => {
    const cosign = await requireTool('cosign');
    await pushTo('cosign');
    const reference = `${registry.host}/cosign@${digest}`;
    const signatures = await run(cosign, 'verify', '--key', publicKeyFile, ...insecure, reference);
    expect(signatures).toContain(digest);
    const type = ['--type', 'slsaprovenance1'];
    const attested = await run(
      cosign,
      'verify-attestation',
      '--key',
      publicKeyFile,
      ...type,
      ...insecure,
      reference,
    );
    expect(attested).toContain('application/vnd.in-toto+json');
    const stranger = await keyFolder(join(folder, 'stranger')).create(january);
    const strangerFile = join(folder, 'stranger.pub');
    await writeFile(strangerFile, stranger.publicKey);
    await expect(run(cosign, 'verify', '--key', strangerFile, ...insecure, reference)).rejects.toMatchObject({
      code: 'tool-failed',
    });
  });

  test('a signature that someone else made with it stays when ours is pushed, and Imago accepts it', async () => {
    const cosign = await requireTool('cosign');
    await withClient((client) =>
      push(store, digest, { client, repository: 'both', tag: 'v1' }, { referrers: false }),
    );
    await run(cosign, 'generate-key-pair');
    const reference = `${registry.host}/both@${digest}`;
    await run(
      cosign,
      'sign',
      '--key',
      'cosign.key',
      '--tlog-upload=false',
      '--allow-http-registry',
      '-y',
      reference,
    );
    await pushTo('both');
    await pushTo('both');
    const theirKey = await readFile(join(folder, 'cosign.pub'), 'utf8');
    await run(cosign, 'verify', '--key', 'cosign.pub', ...insecure, reference);
    await run(cosign, 'verify', '--key', publicKeyFile, ...insecure, reference);
    const other = await pulled('both', 'both');
    expect((await verifySignatures(other, digest, addKey({ keys: [] }, theirKey, january))).length).toBe(1);
    expect((await verifySignatures(other, digest, ring)).length).toBe(1);
    await other.close();
  });
});

describe('signing in', () => {
  test('with a password', async () => {
    await using guarded = await startRegistry({ kind: 'basic' });
    const good = new RegistryClient({ registry: guarded.host, credentials: testUser });
    await push(store, digest, { client: good, repository: 'node', tag: 'v1' });
    const other = await openDiskStore(join(folder, 'basic'));
    await pull(other, { client: good, repository: 'node', reference: 'v1' });
    expect((await verifyDisk(other, digest)).damages).toEqual([]);
    await other.close();
    const wrong = { username: 'imago', password: 'not the one' };
    for (const credentials of [undefined, wrong]) {
      const client = new RegistryClient({ registry: guarded.host, credentials });
      const refused = planPush(store, digest, { client, repository: 'node' });
      await expect(refused).rejects.toMatchObject({ code: 'registry-denied' });
      await expect(refused).rejects.not.toThrow(wrong.password);
      client.close();
    }
    good.close();
  });

  test('with tokens that another service hands out, also for a mount', async () => {
    await using service = await startTokenService();
    await using guarded = await startRegistry({ kind: 'token', realm: service.realm });
    const client = new RegistryClient({ registry: guarded.host, credentials: testUser });
    await push(store, digest, { client, repository: 'one', tag: 'v1' });
    expect(service.granted).toContain('repository:one:pull,push');
    const mounted = await push(
      store,
      digest,
      { client, repository: 'two', tag: 'v1' },
      { mountFrom: ['one'] },
    );
    expect(mounted).toMatchObject({ blobsSent: 0 });
    const other = await openDiskStore(join(folder, 'token'));
    await pull(other, { client, repository: 'two', reference: digest });
    expect((await verifyDisk(other, digest)).damages).toEqual([]);
    await other.close();
    client.close();
    const stranger = new RegistryClient({ registry: guarded.host });
    const refused = planPush(store, digest, { client: stranger, repository: 'one' });
    await expect(refused).rejects.toMatchObject({ code: 'registry-denied' });
    stranger.close();
  });
});
