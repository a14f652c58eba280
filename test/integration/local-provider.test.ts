// What goes wrong on one computer: machines that do not come up, no memory, a daemon that is killed half-way, a
// computer that goes down, a store that lost a disk. Machines are played, disks are real.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { nodeState } from '../../src/domain/node/state.ts';
import { readyPool } from '../../src/operations/node/pool-nodes.ts';
import type { SealedDisk } from '../../src/ports/provider/builder.ts';
import type { CallOptions } from '../../src/ports/provider/call.ts';
import type { MachineSpec } from '../../src/ports/provider/machines.ts';
import type { PoolModel, ProviderNode } from '../../src/ports/provider/pools.ts';
import type { LocalProvider, LocalProviderOptions } from '../../src/providers/local/provider.ts';
import { noteStopped } from '../../src/providers/local/resume.ts';
import { createFakeMachineHost, type FakeMachineHost } from '../support/fake-machine-host.ts';
import { createLocalBench, type LocalBench } from '../support/local-bench.ts';
import { patience } from '../support/speed.ts';
import { untilFits } from '../support/until.ts';

const options: CallOptions = { signal: new AbortController().signal, epoch: 1 };

let bench: LocalBench;
let host: FakeMachineHost;
let provider: LocalProvider;
let first: PoolModel;
let second: PoolModel;

beforeEach(async () => {
  bench = await createLocalBench();
  host = createFakeMachineHost();
  provider = await bench.open(host);
  await provider.gallery.createImage(
    { name: 'node', os: 'linux', architecture: 'x64', generation: 2 },
    options,
  );
  first = await publish('1.0.0', await bench.sealDisk('one'));
  second = await publish('2.0.0', await bench.sealDisk('two'));
});

afterEach(async () => {
  await provider.close();
  await bench.end();
});

async function publish(version: string, disk: SealedDisk): Promise<PoolModel> {
  const source = { kind: 'disk', digest: disk.diskDigest } as const;
  const spec = { image: 'node', version, source, regions: [], excludeFromLatest: false, tags: {} };
  await provider.gallery.createVersion(spec, options);
  await untilFits(
    () => provider.gallery.getVersion('node', version, options),
    ({ state }) => state === 'ready',
  );
  return { image: 'node', version, digest: disk.digest, size: 'tiny', nodeConfig: '{}', tags: {} };
}

async function reopen(given: Partial<LocalProviderOptions> = {}): Promise<void> {
  await provider.close();
  provider = await bench.open(host, given);
}

async function nodes(pool = 'web'): Promise<readonly ProviderNode[]> {
  return (await provider.pools.listNodes(pool, { limit: 20 }, options)).items;
}

function settled(pool?: string): Promise<readonly ProviderNode[]> {
  return untilFits(
    () => nodes(pool),
    (all) => all.every(({ state, power }) => /ready|failed/.test(state) && /running|stopped/.test(power)),
  );
}

async function makePool(capacity: number, model = first): Promise<readonly ProviderNode[]> {
  await provider.pools.createPool({ name: 'web', orchestration: 'uniform', model, capacity }, options);
  return settled();
}

describe('a machine that does not come up', () => {
  it('is failed when its time is over, with the last lines of its console', async () => {
    await reopen({ limits: { bootMs: 30 } });
    host.behave({ boots: 'never' });
    const [node] = await makePool(1);
    expect(node).toMatchObject({
      state: 'failed',
      power: 'running',
      health: 'unknown',
      error: { code: 'OSProvisioningTimedOut' },
    });
    expect(node?.error?.message).toContain('Booting the system from disk');
  });

  it('is failed as soon as it dies', async () => {
    host.behave({ boots: 'dies' });
    const [node] = await makePool(1);
    expect(node).toMatchObject({
      state: 'failed',
      power: 'stopped',
      error: { code: 'OSProvisioningFailed' },
    });
    expect(node?.error?.message).toContain('crashed');
  });

  it('is failed when its agent says so, and made after all when a later start is well', async () => {
    host.behave({ boots: 'fails' });
    const [node] = await makePool(1);
    const name = node?.name ?? '';
    expect(node).toMatchObject({
      state: 'failed',
      health: 'unhealthy',
      error: { code: 'OSProvisioningClientError', message: 'containerd did not start.' },
    });
    host.behave({});
    await provider.pools.stopNode('web', name, options);
    await untilFits(
      () => provider.pools.getNode('web', name, options),
      ({ power }) => power === 'stopped',
    );
    await provider.pools.startNode('web', name, options);
    const [again] = await settled();
    expect(again).toMatchObject({ state: 'ready', health: 'healthy', machineId: node?.machineId });
    expect(again?.error).toBeUndefined();
  });

  it('is failed with the words of the hypervisor when it cannot even start, and leaves others alone', async () => {
    const [good] = await makePool(1);
    host.behave({ startError: new ImagoError('machine-start-failed', 'QEMU said no.') });
    await provider.pools.setCapacity('web', 2, {}, options);
    const all = await settled();
    expect(all.find(({ name }) => name === good?.name)).toEqual(good);
    expect(all.find(({ name }) => name !== good?.name)).toMatchObject({
      state: 'failed',
      power: 'stopped',
      error: { code: 'machine-start-failed', message: 'QEMU said no.' },
    });
  });

  it('that died later is failed, and good again after a start', async () => {
    const [node] = await makePool(1);
    const name = node?.name ?? '';
    host.end(node?.machineId ?? '', 'crashed');
    await untilFits(
      () => provider.pools.getNode('web', name, options),
      ({ state, power, error }) =>
        state === 'failed' && power === 'stopped' && error?.code === 'MachineCrashed',
    );
    await provider.pools.startNode('web', name, options);
    expect(await untilFits(nodes, ([one]) => one?.health === 'healthy')).toEqual([node]);
  });

  it('that powered itself off is stopped, and nothing else', async () => {
    const [node] = await makePool(1);
    host.end(node?.machineId ?? '', 'powered-off');
    expect(await settled()).toMatchObject([{ ...node, power: 'stopped', health: 'unknown' }]);
    expect(host.starts).toHaveLength(1);
  });
});

describe('how a machine is', () => {
  const nodeIs = (fits: (node: ProviderNode) => boolean) =>
    untilFits(
      async () => (await nodes())[0],
      (node) => fits(node),
    );

  it('is not known when its agent has fallen silent, until it speaks again', async () => {
    await reopen({ limits: { silenceMs: patience(3000) } });
    await provider.pools.createPool(
      { name: 'web', orchestration: 'uniform', model: first, capacity: 1 },
      options,
    );
    const { machineId } = await nodeIs(({ health }) => health === 'healthy');
    const silent = await nodeIs(({ health }) => health === 'unknown');
    expect(silent).toMatchObject({ state: 'ready', power: 'running' });
    expect(silent.trouble).toMatch(/not reported since 20/);
    host.speak(machineId);
    const heard = await nodeIs(({ health }) => health === 'healthy');
    expect(heard.trouble).toBeUndefined();
  });

  it('is not what the agent said before the machine restarted', async () => {
    await reopen({ limits: { silenceMs: 300 } });
    const [made] = await makePool(1);
    const machineId = made?.machineId ?? '';
    host.restart(machineId);
    expect((await nodes())[0]).toMatchObject({ state: 'ready', power: 'running', health: 'unknown' });
    const { trouble } = await nodeIs((node) => node.trouble !== undefined);
    expect(trouble).toMatch(/restarted at 20.*has not reported since/);
    host.speak(machineId);
    await nodeIs(({ health }) => health === 'healthy');
  });

  it('is told when it stands still for want of space, and again when it goes on', async () => {
    const [made] = await makePool(1);
    const machineId = made?.machineId ?? '';
    const message = "The computer's disk is full.";
    host.halt(machineId, { kind: 'disk-full', at: new Date().toISOString(), message });
    expect(await nodes()).toMatchObject([
      { state: 'ready', power: 'running', health: 'unhealthy', trouble: message },
    ]);
    await reopen();
    expect(await nodes()).toMatchObject([{ health: 'unhealthy', trouble: message }]);
    host.halt(machineId, undefined);
    expect(await nodes()).toEqual([made]);
  });

  it('is told of one that never came up for want of space, and of a single machine', async () => {
    await reopen({ limits: { bootMs: 400 } });
    host.behave({ boots: 'never' });
    const message = "The computer's disk is full.";
    host.watch((event) => {
      if (event.kind !== 'state' || event.status.state !== 'running' || event.status.halt !== undefined)
        return;
      host.halt(event.id, { kind: 'disk-full', at: new Date().toISOString(), message });
    });
    const spec: MachineSpec = {
      ...{ name: 'probe', image: 'node', version: '1.0.0', digest: first.digest, size: 'tiny' },
      ...{ firmware: 'uefi', userData: '', tags: {} },
    };
    await provider.machines.createMachine(spec, options);
    const failed = await untilFits(
      () => provider.machines.getMachine('probe', options),
      ({ state }) => state === 'failed',
    );
    expect(failed).toMatchObject({ power: 'running', trouble: message });
    expect(failed.error?.message).toContain(message);
  });
});

describe('memory', () => {
  it('that is not there refuses machines before anything is made', async () => {
    await reopen({ memory: { availableMb: () => 2000, residentMb: () => 0 } });
    await expect(makePool(4)).rejects.toMatchObject({
      code: 'machine-memory-short',
      details: { neededMb: 2048, freeMb: 1744 },
    });
    expect(await provider.pools.getPool('web', options)).toBeUndefined();
    await makePool(3);
    const before = await provider.pools.getPool('web', options);
    const spec: MachineSpec = {
      ...{ name: 'probe', image: 'node', version: '1.0.0', digest: first.digest, size: '1cpu-2g' },
      ...{ firmware: 'uefi', userData: '', tags: {} },
    };
    await expect(provider.machines.createMachine(spec, options)).rejects.toMatchObject({
      code: 'machine-memory-short',
    });
    expect(await provider.machines.getMachine('probe', options)).toBeUndefined();
    expect(await provider.pools.getPool('web', options)).toEqual(before);
  });
});

describe('boots', () => {
  it('are queued to what the computer can bear', async () => {
    await reopen({ limits: { bootsAtOnce: 2 } });
    let most = 0;
    const unready = new Set<string>();
    host.watch((event) => {
      if (event.kind === 'state' && event.status.state === 'running') unready.add(event.id);
      if (event.kind === 'report' && event.report.phase === 'ready') unready.delete(event.id);
      most = Math.max(most, unready.size);
    });
    const made = await makePool(7);
    expect(made.every(({ state }) => state === 'ready')).toBe(true);
    expect(most).toBe(2);
  });

  it('of a machine that is deleted while it waits never begin', async () => {
    await reopen({ limits: { bootsAtOnce: 1, bootMs: 60_000 } });
    host.behave({ boots: 'never' });
    await provider.pools.createPool(
      { name: 'web', orchestration: 'uniform', model: first, capacity: 3 },
      options,
    );
    await untilFits(
      async () => host.starts,
      ({ length }) => length === 1,
    );
    await provider.pools.deletePool('web', options);
    await untilFits(
      async () => ({ gone: (await provider.pools.getPool('web', options)) === undefined }),
      ({ gone }) => gone,
    );
    expect(host.starts).toHaveLength(1);
    expect(await host.list()).toEqual([]);
    expect(await readdir(join(bench.folder, 'local', 'machines'))).toEqual([]);
  });
});

describe('a daemon that is killed', () => {
  let died: PromiseWithResolvers<void>;

  beforeEach(() => {
    died = Promise.withResolvers();
  });

  /** These calls never come to an end, like those of a process that is gone. */
  function dyingAt(...calls: readonly ('start' | 'stop' | 'remove' | 'kill' | 'held')[]): FakeMachineHost {
    const dies = () => {
      died.resolve();
      return new Promise<never>(() => undefined);
    };
    return { ...host, ...Object.fromEntries(calls.map((call) => [call, dies])) };
  }

  async function nextDaemon(): Promise<void> {
    provider = await bench.open(host);
  }

  it('while it starts machines: the next one starts them', async () => {
    await provider.close();
    provider = await bench.open(dyingAt('start'));
    await provider.pools.createPool(
      { name: 'web', orchestration: 'uniform', model: first, capacity: 2 },
      options,
    );
    await untilFits(
      () => nodes(),
      (all) => all.every(({ osDisk }) => osDisk !== undefined),
    );
    await died.promise;
    await nextDaemon();
    expect((await settled()).map(({ state, power }) => ({ state, power }))).toEqual([
      { state: 'ready', power: 'running' },
      { state: 'ready', power: 'running' },
    ]);
  });

  it('while it gives a node a new disk: the next one gives it, once', async () => {
    const [node] = await makePool(1);
    await provider.close();
    provider = await bench.open(dyingAt('kill'));
    await provider.pools.setModel('web', second, {}, options);
    await provider.pools.reimageNode('web', node?.name ?? '', options);
    await died.promise;
    await nextDaemon();
    const [after] = await settled();
    expect(after).toMatchObject({ version: '2.0.0', state: 'ready', machineId: node?.machineId });
    const left = await readdir(join(bench.folder, 'local', 'machines', node?.machineId ?? ''));
    expect(left.filter((name) => name.endsWith('.qcow2'))).toEqual(['disk-2.qcow2']);
  });

  it('while it stops, deletes or captures: the next one finishes', async () => {
    const [one, two] = await makePool(2);
    await provider.close();
    provider = await bench.open(dyingAt('stop', 'remove', 'held'));
    await provider.disks.createSnapshot({ name: 'half', disk: one?.osDisk ?? '', tags: {} }, options);
    await provider.pools.stopNode('web', one?.name ?? '', options);
    await provider.pools.deleteNode('web', two?.name ?? '', options);
    await died.promise;
    await nextDaemon();
    const snapshot = await untilFits(
      () => provider.disks.getSnapshot('half', options),
      ({ state }) => state !== 'creating',
    );
    expect(snapshot.state).toBe('ready');
    const left = await untilFits(
      () => nodes(),
      (all) => all.length === 1 && all[0]?.power === 'stopped',
    );
    expect(left).toMatchObject([{ name: one?.name, state: 'ready', power: 'stopped' }]);
  });
});

describe('what a killed daemon left half-made', () => {
  it('is taken away by the next one', async () => {
    const [node] = await makePool(1);
    const machines = join(bench.folder, 'local', 'machines');
    const snapshots = join(bench.folder, 'local', 'snapshots');
    await provider.close();
    await mkdir(join(machines, 'nobody'));
    await mkdir(snapshots, { recursive: true });
    for (const file of [
      join(machines, node?.machineId ?? '', 'disk-7.qcow2'),
      join(machines, 'nobody', 'disk-1.qcow2'),
      join(snapshots, 'nothing.qcow2.partial'),
    ]) {
      await writeFile(file, 'half');
    }
    provider = await bench.open(host);
    await provider.idle();
    expect(await readdir(machines)).toEqual([node?.machineId]);
    expect(await readdir(join(machines, node?.machineId ?? ''))).toEqual(['disk-1.qcow2']);
    expect(await readdir(snapshots)).toEqual([]);
    expect(await settled()).toMatchObject([{ name: node?.name, power: 'running', state: 'ready' }]);
  });
});

describe('after everything was stopped', () => {
  it('machines that ran run again, and those that were stopped stay so', async () => {
    const [one, two] = await makePool(2);
    await provider.pools.stopNode('web', two?.name ?? '', options);
    await settled();
    await provider.close();
    noteStopped(join(bench.folder, 'local'), [one?.machineId ?? '']);
    await host.close({ leaveRunning: false });
    provider = await bench.open(host);
    const after = await settled();
    expect(after.map(({ power, machineId }) => ({ power, machineId }))).toEqual([
      { power: 'running', machineId: one?.machineId },
      { power: 'stopped', machineId: two?.machineId },
    ]);
  });

  it('nodes that boot are not ready, and do not count, until their agents report', async () => {
    const made = await makePool(2);
    await provider.close();
    noteStopped(
      join(bench.folder, 'local'),
      made.map(({ machineId }) => machineId),
    );
    await host.close({ leaveRunning: false });
    host.behave({ boots: 'never' });
    provider = await bench.open(host);
    const access = { provider, pools: provider.pools, options };
    expect((await nodes()).map(nodeState)).toEqual(['starting', 'starting']);
    const booting = await untilFits(nodes, (all) => all.every(({ power }) => power === 'running'));
    expect(booting.map(nodeState)).toEqual(['starting', 'starting']);
    expect(await readyPool(access, 'web', 2)).toBeUndefined();
    for (const { machineId } of made) host.speak(machineId);
    expect((await nodes()).map(nodeState)).toEqual(['ready', 'ready']);
    expect(await readyPool(access, 'web', 2)).toMatchObject({ capacity: 2 });
  });

  it('with the computer, machines run again too', async () => {
    const [one] = await makePool(1);
    await provider.close();
    host.end(one?.machineId ?? '', 'computer-restarted');
    provider = await bench.open(host);
    expect(await untilFits(nodes, ([node]) => node?.health === 'healthy')).toMatchObject([
      { power: 'running', machineId: one?.machineId, imagedAt: one?.imagedAt },
    ]);
  });
});

describe('a disk', () => {
  it('that the store lost leaves a node that was to get it as it is, and says so', async () => {
    const [node] = await makePool(1);
    const name = node?.name ?? '';
    await provider.pools.setModel('web', second, {}, options);
    await rm(join(bench.store.root, 'blobs', 'sha256', second.digest.slice(7)));
    await provider.pools.reimageNode('web', name, options);
    const [after] = await settled();
    expect(after).toMatchObject({
      ...{ state: 'failed', power: 'running', version: '1.0.0', imagedAt: node?.imagedAt },
      error: { code: expect.stringContaining('store-') },
    });
  });

  it('is taken out of the store once, kept while anything stands on it, and dropped afterwards', async () => {
    await reopen({ imageLimits: { maxBytes: 0, maxAgeMs: 0 } });
    const [node] = await makePool(2);
    expect((await provider.images.list()).map(({ digest }) => digest)).toEqual([first.digest]);
    await provider.disks.createSnapshot({ name: 'kept', disk: node?.osDisk ?? '', tags: {} }, options);
    await untilFits(
      () => provider.disks.getSnapshot('kept', options),
      ({ state }) => state === 'ready',
    );
    expect(host.holds).toEqual([node?.machineId]);
    await provider.pools.deletePool('web', options);
    await untilFits(
      async () => ({ gone: (await provider.pools.getPool('web', options)) === undefined }),
      ({ gone }) => gone,
    );
    await provider.idle();
    expect(await provider.images.list()).toHaveLength(1);
    await provider.disks.deleteSnapshot('kept', options);
    await untilFits(
      () => provider.images.list(),
      ({ length }) => length === 0,
    );
  });
});

describe('a pool', () => {
  it('has its ports on each node, and a node whose port is taken says which, and leaves the others alone', async () => {
    const forwards = [{ guestPort: 22 }, { guestPort: 80, hostPort: 8080 }];
    const [one, two] = await makePool(2, { ...first, forwards });
    expect([one?.forwards?.[1], two?.forwards?.[1]]).toEqual([
      { guestPort: 80, hostPort: 8080 },
      { guestPort: 80, hostPort: 8081 },
    ]);
    expect(one?.forwards?.[0]?.hostPort).not.toBe(two?.forwards?.[0]?.hostPort);
    const spec = { name: 'other', orchestration: 'uniform', capacity: 1 } as const;
    const model = { ...first, forwards: [{ guestPort: 22, hostPort: 8081 }] };
    await provider.pools.createPool({ ...spec, model }, options);
    const [refused] = await settled('other');
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'machine-port-taken' } });
    expect(refused?.error?.message).toContain('8081');
    expect((await nodes()).map(({ state }) => state)).toEqual(['ready', 'ready']);
    await provider.pools.stopNode('web', two?.name ?? '', options);
    const stopped = await untilFits(nodes, (all) => all[1]?.power === 'stopped');
    expect(stopped[1]?.forwards).toBeUndefined();
  });

  it('of another size restarts the node that is brought to it, with its disk', async () => {
    const [node] = await makePool(1);
    await provider.pools.setModel('web', { ...first, size: 'small' }, {}, options);
    await provider.pools.upgradeNode('web', node?.name ?? '', options);
    const [after] = await untilFits(
      () => settled(),
      ([one]) => one?.latestModelApplied === true && one.health === 'healthy',
    );
    expect(after?.imagedAt).toBe(node?.imagedAt);
    expect(host.starts.map(({ memoryMb }) => memoryMb)).toEqual([512, 1024]);
  });

  it.each(['huge', '2cpu', '0cpu-1g', '1cpu-8m', ''])('of size %j is refused', async (size) => {
    await expect(makePool(1, { ...first, size })).rejects.toMatchObject({ code: 'input-invalid' });
    expect(await provider.pools.getPool('web', options)).toBeUndefined();
  });
});
