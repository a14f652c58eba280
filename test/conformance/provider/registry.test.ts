// A gallery over two real registries keeps what the roles promise; what each registry has is read by its own API.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/host/system-clock.ts';
import type { SealedDisk } from '../../../src/ports/provider/builder.ts';
import { createRegistryProvider, type RegistryProvider } from '../../../src/providers/registry/provider.ts';
import { startRegistry, type TestRegistry } from '../../support/docker-registry.ts';
import { createLocalBench, type LocalBench } from '../../support/local-bench.ts';
import { until } from '../../support/until.ts';
import { describeProvider } from './describe-provider.ts';
import type { ProviderUnderTest } from './suite.ts';

const options = { signal: new AbortController().signal, epoch: 5 };

function open(bench: LocalBench, folder: string, hosts: readonly string[]): RegistryProvider {
  return createRegistryProvider({
    folder,
    regions: hosts.map((host, index) => `${['home', 'far'][index]}=${host}/images`).join(','),
    store: bench.store,
    clock: systemClock,
    findCredentials: async () => undefined,
  });
}

async function makeRegistry(): Promise<ProviderUnderTest> {
  const bench = await createLocalBench();
  const registries = [await startRegistry(), await startRegistry()];
  const provider = open(
    bench,
    join(bench.folder, 'registry'),
    registries.map(({ host }) => host),
  );
  return {
    provider,
    sealDisk: (text) => bench.sealDisk(text),
    settle: async (done) => void (await until('it settles', done)),
    async close() {
      await provider.close();
      for (const registry of registries) await registry[Symbol.asyncDispose]();
      await bench.end();
    },
  };
}

const noMachines = 'a registry has disks alone';

describeProvider('registry', makeRegistry, {
  lacks: {
    ...{ pools: noMachines, nodeConfigs: noMachines, machines: noMachines, disks: noMachines },
    ...{ builder: noMachines, uniform: noMachines, flexible: noMachines, reimage: noMachines },
    ...{ upgrade: noMachines, protect: noMachines, snapshots: noMachines, runCommand: noMachines },
    regionFaults: 'real registries fail in the tests below',
  },
  size: 'none',
  nodes: 2,
});

describe('registries', () => {
  let bench: LocalBench;
  let folder: string;
  let home: TestRegistry;
  let far: TestRegistry;
  let provider: RegistryProvider;
  let disk: SealedDisk;
  let farHost: string;

  beforeAll(async () => {
    bench = await createLocalBench();
    folder = await mkdtemp(join(tmpdir(), 'imago-registries-'));
    [home, far] = [await startRegistry(), await startRegistry()];
    farHost = far.host;
    provider = open(bench, folder, [home.host, farHost]);
    disk = await bench.sealDisk('first');
    const image = { name: 'node', os: 'linux', architecture: 'x64', generation: 2 } as const;
    await provider.gallery.createImage(image, options);
  });
  afterAll(async () => {
    await provider.close();
    for (const registry of [home, far]) await registry[Symbol.asyncDispose]();
    await bench.end();
    await rm(folder, { recursive: true, force: true });
  });

  const regions = ['home', 'far'].map((region) => ({ region, replicas: 1 }));
  const spec = (version: string, { diskDigest }: SealedDisk) => ({
    ...{ image: 'node', version, regions, excludeFromLatest: false, tags: {} },
    source: { kind: 'disk', digest: diskDigest } as const,
  });
  const look = (version: string) => provider.gallery.getVersion('node', version, options);
  const ends = (version: string, state: string) =>
    until(`${version} is ${state}`, async () => (await look(version))?.state === state);
  /** The digest of a tag, as the registry tells anyone. */
  async function tagOf(host: string, tag: string): Promise<string | null> {
    const accept = 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json';
    const response = await fetch(`http://${host}/v2/images/node/manifests/${tag}`, { headers: { accept } });
    return response.headers.get('docker-content-digest');
  }

  test('a region that does not answer fails alone, and is copied to when it is asked for again', async () => {
    await far[Symbol.asyncDispose]();
    await provider.gallery.createVersion(spec('1.0.0', disk), options);
    await ends('1.0.0', 'failed');
    const failed = await look('1.0.0');
    expect(failed?.regions).toMatchObject([
      { region: 'home', state: 'ready', percent: 100 },
      { region: 'far', state: 'failed', error: { code: expect.stringMatching(/^registry-/) } },
    ]);
    expect(await tagOf(home.host, '1.0.0')).toBe(disk.digest);
    far = await startRegistry(undefined, farHost);
    await provider.gallery.updateVersion('node', '1.0.0', { regions }, options);
    await ends('1.0.0', 'ready');
    expect(await tagOf(farHost, '1.0.0')).toBe(disk.digest);
  });

  test('`latest` of each registry is the highest version that is not excluded; a withdrawn one is left', async () => {
    const second = await bench.sealDisk('second');
    await provider.gallery.createVersion({ ...spec('1.1.0', second), excludeFromLatest: true }, options);
    await ends('1.1.0', 'ready');
    const latest = () => Promise.all([home.host, farHost].map((host) => tagOf(host, 'latest')));
    await until('latest is 1.0.0', async () => (await latest()).every((digest) => digest === disk.digest));
    await provider.gallery.updateVersion('node', '1.1.0', { excludeFromLatest: false }, options);
    await until('latest is 1.1.0', async () => (await latest()).every((digest) => digest === second.digest));
    await provider.gallery.updateVersion('node', '1.1.0', { excludeFromLatest: true }, options);
    await until('latest is left', async () => (await latest()).every((digest) => digest === disk.digest));
    await provider.gallery.deleteVersion('node', '1.1.0', options);
    await until('1.1.0 is gone', async () => (await look('1.1.0')) === undefined);
    for (const host of [home.host, farHost]) expect(await tagOf(host, '1.1.0')).not.toBe(second.digest);
  });

  test('content that others stored under a number is neither replaced nor removed', async () => {
    const other = await bench.sealDisk('other');
    const foreign = open(bench, join(folder, 'foreign'), [home.host]);
    await foreign.gallery.createImage(
      { name: 'node', os: 'linux', architecture: 'x64', generation: 2 },
      options,
    );
    await foreign.gallery.createVersion({ ...spec('1.0.0', other), regions: [] }, options);
    await until(
      'it fails',
      async () => (await foreign.gallery.getVersion('node', '1.0.0', options))?.state === 'failed',
    );
    expect((await foreign.gallery.getVersion('node', '1.0.0', options))?.error).toMatchObject({
      code: 'provider-conflict',
    });
    expect(await tagOf(home.host, '1.0.0')).toBe(disk.digest);
    await foreign.gallery.deleteVersion('node', '1.0.0', options);
    await until(
      'it is gone',
      async () => (await foreign.gallery.getVersion('node', '1.0.0', options)) === undefined,
    );
    expect(await tagOf(home.host, '1.0.0')).toBe(disk.digest);
    await foreign.close();
  });

  test('what a process began and did not end is copied by the next one', async () => {
    const third = await bench.sealDisk('third');
    await provider.gallery.createVersion(spec('2.0.0', third), options);
    await provider.close();
    provider = open(bench, folder, [home.host, farHost]);
    await ends('2.0.0', 'ready');
    // While `latest` is stored, a registry of this kind answers for a moment as if it had no such manifest.
    for (const host of [home.host, farHost]) {
      await until(`${host} has it`, async () => (await tagOf(host, '2.0.0')) === third.digest);
    }
  });
});
