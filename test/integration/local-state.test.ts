// A state file that an earlier version of Imago wrote is opened, and its machines are found again.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CallOptions } from '../../src/ports/provider/call.ts';
import type { LocalProvider } from '../../src/providers/local/provider.ts';
import { createFakeMachineHost, type FakeMachineHost } from '../support/fake-machine-host.ts';
import { createLocalBench, type LocalBench } from '../support/local-bench.ts';
import { until } from '../support/until.ts';

const recorded = readFileSync(new URL('../support/state/local-1.sql', import.meta.url), 'utf8');
const running = '7e1dd71f-77e5-4910-93ce-6f94ce770799';
const stopped = 'c21bbeb3-c5b2-4cf7-9296-eac34a0fb49c';
const probe = '1d7f5aa1-6eb1-4092-8d30-ea0f599819f0';
const options: CallOptions = { signal: new AbortController().signal, epoch: 5 };

let bench: LocalBench;
let host: FakeMachineHost;
let provider: LocalProvider;

/** Makes the disk of a machine as the earlier daemon left it, and returns its path. */
function makeDisk(id: string): string {
  const folder = join(bench.folder, 'local', 'machines', id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'disk-1.qcow2'), 'disk');
  return join(folder, 'disk-1.qcow2');
}

async function run(id: string): Promise<void> {
  const disk = makeDisk(id);
  const folder = dirname(disk);
  await host.start({
    ...{ id, folder, disk, backing: disk, boot: { kind: 'uefi' }, cpus: 1, memoryMb: 512 },
    network: { forwards: [] },
    metadata: {
      ...{ machineId: id, name: id, size: 'tiny', region: 'local', userData: '', tags: {} },
      image: { gallery: 'imago', image: 'node', version: '1.0.0', digest: '' },
    },
  });
}

beforeEach(async () => {
  bench = await createLocalBench();
  host = createFakeMachineHost();
  for (const text of ['one', 'two']) await bench.sealDisk(text);
  mkdirSync(join(bench.folder, 'local'));
  const database = new DatabaseSync(join(bench.folder, 'local', 'local.db'));
  database.exec(recorded);
  database.close();
  await run(running);
  await run(probe);
  makeDisk(stopped);
  provider = await bench.open(host);
  await provider.idle();
});

afterEach(async () => {
  await provider.close();
  await bench.end();
});

it('finds the machines of an earlier layout again, and starts none', async () => {
  const { items } = await provider.pools.listNodes('web', { limit: 9 }, options);
  expect(items).toMatchObject([
    {
      ...{ name: 'web-000000', machineId: running, power: 'running', state: 'ready', version: '1.0.0' },
      ...{ latestModelApplied: false, osDisk: `disk/${running}` },
      protection: { fromScaleIn: true, fromPoolActions: false },
    },
    { name: 'web-000001', power: 'stopped', state: 'ready', health: 'unknown' },
  ]);
  expect(await provider.machines.getMachine('probe', options)).toMatchObject({
    ...{ machineId: probe, power: 'running', state: 'ready', version: '2.0.0' },
  });
  expect(host.starts.map(({ id }) => id)).toEqual([running, probe]);
});

it('keeps the pool, its model, its config and the owner of an earlier layout', async () => {
  expect(await provider.pools.getPool('web', options)).toMatchObject({
    ...{ orchestration: 'uniform', capacity: 2, etag: '2', state: 'ready' },
    model: { version: '2.0.0', tags: { team: 'web' } },
  });
  expect(await provider.nodeConfigs.getUserData('web', 'web-000000', options)).toContain('labels');
  expect(await provider.nodeConfigs.hasOwnUserData('web', 'web-000001', options)).toBe(false);
  const stale = provider.pools.setCapacity('web', 3, {}, { ...options, epoch: 3 });
  await expect(stale).rejects.toMatchObject({ code: 'owner-stale' });
});

it('keeps the galleries, versions and snapshots of an earlier layout', async () => {
  expect((await provider.galleries.listGalleries({ limit: 9 }, options)).items).toEqual([
    { name: 'imago' },
    { name: 'staging', description: 'before production' },
  ]);
  expect((await provider.gallery.listVersions('node', { limit: 9 }, options)).items).toMatchObject([
    { version: '1.0.0', state: 'ready', excludeFromLatest: false, tags: { made: 'before' } },
    { version: '2.0.0', state: 'ready', excludeFromLatest: true, blockDeletionBeforeEndOfLife: true },
  ]);
  expect(await provider.disks.getSnapshot('kept', options)).toMatchObject({
    ...{ disk: `disk/${running}`, state: 'ready', sizeBytes: 2_097_152, tags: { of: 'web' } },
  });
});

it('goes on from an earlier layout: a stopped node starts, and the pool grows and shrinks', async () => {
  const ready = (count: number) =>
    until(`${count} nodes are ready`, async () => {
      const { items } = await provider.pools.listNodes('web', { limit: 9 }, options);
      const done = items.every(({ state, power }) => state === 'ready' && power === 'running');
      return done && items.length === count && items;
    });
  await provider.pools.startNode('web', 'web-000001', options);
  await ready(2);
  await provider.pools.setCapacity('web', 3, {}, options);
  expect((await ready(3)).map(({ name }) => name)).toEqual(['web-000000', 'web-000001', 'web-000002']);
  await provider.pools.setCapacity('web', 1, {}, options);
  expect((await ready(1)).map(({ name }) => name)).toEqual(['web-000000']);
});
