// The local provider over real disks and real machines: from a sealed disk to nodes, through the death of a machine
// and of the daemon, to a version captured from a running node, and nothing left at the end.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SealedDisk } from '../../src/ports/provider/builder.ts';
import type { CallOptions } from '../../src/ports/provider/call.ts';
import type { MachineSpec } from '../../src/ports/provider/machines.ts';
import type { PoolModel, ProviderNode } from '../../src/ports/provider/pools.ts';
import { openMachineHost } from '../../src/providers/local/host/open.ts';
import type { LocalProvider } from '../../src/providers/local/provider.ts';
import { createLocalBench, type LocalBench } from '../support/local-bench.ts';
import { makeMachineDisk } from '../support/machine-disk.ts';
import { patience } from '../support/speed.ts';
import { untilFits } from '../support/until.ts';

const options: CallOptions = { signal: new AbortController().signal, epoch: 1 };
const patienceMs = patience(500_000);
const gallery = { os: 'linux', architecture: 'x64', generation: 2 } as const;

const single: Omit<MachineSpec, 'digest'> = {
  ...{ name: 'probe', image: 'node', version: '1.0.0', size: 'tiny' },
  ...{ firmware: 'uefi', userData: '', tags: {} },
};

let bench: LocalBench;
let folder: string;
let provider: LocalProvider;
let disk: SealedDisk;
let model: PoolModel;

async function openProvider(): Promise<LocalProvider> {
  const host = await openMachineHost({
    folder: join(bench.folder, 'host'),
    socketFolder: join(folder, 's'),
    accelerator: { name: 'tcg', reason: 'the test says so' },
  });
  return bench.open(host, { limits: { diskBytes: 1024 ** 3, bootMs: patienceMs } });
}

async function nodes(): Promise<readonly ProviderNode[]> {
  return (await provider.pools.listNodes('web', { limit: 10 }, options)).items;
}

function nodeBy(name: string): Promise<ProviderNode | undefined> {
  return provider.pools.getNode('web', name, options);
}

async function pidOf(machineId: string): Promise<number> {
  return (await provider.host.status(machineId)).pid ?? 0;
}

beforeAll(async () => {
  bench = await createLocalBench();
  folder = await mkdtemp(join(tmpdir(), 'imago-vm-'));
  const raw = await makeMachineDisk(folder);
  disk = await bench.seal(raw.path);
  await rm(raw.path);
  model = {
    ...{ image: 'node', version: '1.0.0', digest: disk.digest },
    ...{ size: 'tiny', nodeConfig: '{"schemaVersion":1}', tags: {} },
  };
  provider = await openProvider();
});

afterAll(async () => {
  for (const { id } of await provider.host.list()) await provider.host.remove(id);
  await provider.close();
  await bench.end();
  await rm(folder, { recursive: true, force: true });
});

describe('nodes on this computer', () => {
  it('a sealed disk becomes a version, and the version becomes nodes that say that they are ready', async () => {
    await provider.gallery.createImage({ name: 'node', ...gallery }, options);
    const source = { kind: 'disk', digest: disk.diskDigest } as const;
    const spec = { image: 'node', version: '1.0.0', source, regions: [], excludeFromLatest: false, tags: {} };
    await provider.gallery.createVersion(spec, options);
    const version = await untilFits(
      () => provider.gallery.getVersion('node', '1.0.0', options),
      ({ state }) => state === 'ready',
    );
    expect(version.diskDigest).toBe(disk.diskDigest);
    await provider.pools.createPool({ name: 'web', orchestration: 'uniform', model, capacity: 1 }, options);
    await provider.machines.createMachine({ ...single, digest: disk.digest }, options);
    const ready = await untilFits(nodes, (all) => all.every(({ health }) => health === 'healthy'));
    expect(ready).toMatchObject([
      { state: 'ready', power: 'running', version: '1.0.0', latestModelApplied: true },
    ]);
    expect(await provider.images.list()).toMatchObject([{ digest: disk.digest }]);
  });

  it('what runs them is the process of an ordinary user', async ({ skip }) => {
    skip(process.getuid?.() === 0, 'root runs this; ./check machines has an ordinary user do so');
    const [node] = await nodes();
    const status = await readFile(`/proc/${await pidOf(node?.machineId ?? '')}/status`, 'utf8');
    const ids = /^Uid:\t(.+)$/m.exec(status)?.[1]?.split('\t').map(Number);
    expect(ids).toEqual(Array(4).fill(process.getuid?.()));
  });

  it('a single machine starts by UEFI from a disk of its own, runs commands, and is gone when it is deleted', async () => {
    const made = await untilFits(
      () => provider.machines.getMachine('probe', options),
      ({ osDisk }) => osDisk !== undefined,
    );
    expect(made.machineId).not.toBe((await nodes())[0]?.machineId);
    const own = join(bench.folder, 'local', 'machines', made.machineId, 'disk-1.qcow2');
    await untilFits(
      () => provider.machines.report('probe', options),
      ({ phase }) => phase === 'ready',
    );
    const command = { script: 'echo hello; lsblk -bdno SIZE /dev/vda; exit 3', timeoutMs: patience(120_000) };
    const answer = await provider.machines.runCommand('probe', command, options);
    expect(answer).toMatchObject({ exitCode: 3, stdout: `hello\n${1024 ** 3}\n`, truncated: false });
    expect(existsSync(own)).toBe(true);
    await provider.machines.deleteMachine('probe', options);
    await untilFits(
      async () => ({ gone: (await provider.machines.getMachine('probe', options)) === undefined }),
      ({ gone }) => gone,
    );
    expect(existsSync(own)).toBe(false);
  });

  it('a daemon that ends leaves machines running, and the next one finds them as they are', async () => {
    const before = await nodes();
    const pids = await Promise.all(before.map(({ machineId }) => pidOf(machineId)));
    await provider.close();
    for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(true);
    provider = await openProvider();
    expect(await Promise.all(before.map(({ machineId }) => pidOf(machineId)))).toEqual(pids);
    expect(await untilFits(nodes, (all) => all.every(({ health }) => health === 'healthy'))).toEqual(before);
  });

  it('a node is captured while it runs, and goes on running', async () => {
    const [node] = await nodes();
    const disks = provider.disks;
    await disks.createSnapshot({ name: 'donor', disk: node?.osDisk ?? '', tags: {} }, options);
    const snapshot = await untilFits(
      () => disks.getSnapshot('donor', options),
      ({ state }) => state !== 'creating',
    );
    expect(snapshot).toMatchObject({ state: 'ready', sizeBytes: 1024 ** 3 });
    const source = { kind: 'snapshot', name: 'donor' } as const;
    const spec = { image: 'node', version: '1.1.0', source, regions: [], excludeFromLatest: false, tags: {} };
    await provider.gallery.createVersion(spec, options);
    const version = await untilFits(
      () => provider.gallery.getVersion('node', '1.1.0', options),
      ({ state }) => state !== 'creating',
    );
    expect(version).toMatchObject({ state: 'ready', sizeBytes: 1024 ** 3 });
    expect(version.diskDigest).not.toBe(disk.diskDigest);
    expect(await nodeBy(node?.name ?? '')).toMatchObject({ power: 'running', health: 'healthy' });
    await disks.deleteSnapshot('donor', options);
    await untilFits(
      async () => ({ gone: (await disks.getSnapshot('donor', options)) === undefined }),
      ({ gone }) => gone,
    );
  });

  it('a machine that dies is seen, and starts again as the same machine with the same disk', async () => {
    const [node] = await nodes();
    const name = node?.name ?? '';
    process.kill(await pidOf(node?.machineId ?? ''), 'SIGKILL');
    const dead = await untilFits(
      () => nodeBy(name),
      ({ power }) => power === 'stopped',
    );
    await untilFits(
      () => nodeBy(name),
      ({ state }) => state === 'failed',
    );
    expect(dead.machineId).toBe(node?.machineId);
    await provider.pools.startNode('web', name, options);
    const again = await untilFits(
      () => nodeBy(name),
      ({ health, state }) => health === 'healthy' && state === 'ready',
    );
    expect(again).toEqual(node);
  });

  it('one that is stopped goes cleanly, and the pool leaves nothing behind', async () => {
    const [node] = await nodes();
    await provider.pools.stopNode('web', node?.name ?? '', options);
    const stopped = await untilFits(
      () => nodeBy(node?.name ?? ''),
      ({ power }) => power === 'stopped',
    );
    expect(stopped).toMatchObject({ state: 'ready', machineId: node?.machineId });
    expect((await provider.host.status(node?.machineId ?? '')).end?.kind).toBe('stopped');
    const pids = await Promise.all((await nodes()).map(({ machineId }) => pidOf(machineId)));
    await provider.pools.deletePool('web', options);
    await untilFits(
      async () => ({ gone: (await provider.pools.getPool('web', options)) === undefined }),
      ({ gone }) => gone,
    );
    for (const pid of pids.filter((one) => one > 0)) expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(await readdir(join(bench.folder, 'local', 'machines'))).toEqual([]);
    expect(await provider.host.list()).toEqual([]);
  });
});
