// Each kind of fault, at each role: what the caller hears, and what is true afterwards.

import { describe, expect, it } from 'vitest';
import { type SimFixture, silent, simFixture } from '../../../test/support/sim/fixture.ts';
import type { ErrorCode } from '../../domain/error/catalog.ts';
import type { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { FaultKind } from '../../ports/provider/sim-control.ts';
import { SimCrash } from './faulty-provider.ts';

interface RoleCall {
  readonly call: string;
  readonly name: string;
  prepare?(fixture: SimFixture): Promise<unknown>;
  run(fixture: SimFixture, options: CallOptions): Promise<unknown>;
  /** Reads whether it was done. */
  done(fixture: SimFixture): Promise<unknown>;
}

const image = { name: 'faulty', os: 'linux', architecture: 'x64', generation: 2 } as const;
const request = { lockDigest: 'sha256:faulty', lock: {} as Lock };

const roleCalls: readonly RoleCall[] = [
  {
    call: 'galleries.createGallery',
    name: 'faulty',
    run: ({ sim }, options) => sim.galleries.createGallery({ name: 'faulty' }, options),
    done: ({ sim, options }) => sim.galleries.getGallery('faulty', options),
  },
  {
    call: 'gallery.createImage',
    name: 'faulty',
    run: ({ sim }, options) => sim.gallery.createImage(image, options),
    done: ({ sim, options }) => sim.gallery.getImage('faulty', options),
  },
  {
    call: 'gallery.createVersion',
    name: 'node/2.0.0',
    prepare: (fixture) => fixture.publish('1.0.0'),
    run: async ({ sim, seal, versionSpec }, options) =>
      sim.gallery.createVersion(versionSpec('2.0.0', await seal({ version: '1.0.0' })), options),
    done: ({ sim, options }) => sim.gallery.getVersion('node', '2.0.0', options),
  },
  {
    call: 'pools.setCapacity',
    name: 'web',
    prepare: (fixture) => fixture.pool('web', 1),
    run: ({ sim }, options) => sim.pools.setCapacity('web', 2, {}, options),
    done: async ({ sim, options }) =>
      (await sim.pools.getPool('web', options))?.capacity === 2 ? true : undefined,
  },
  {
    call: 'machines.createMachine',
    name: 'faulty',
    prepare: (fixture) => fixture.publish('1.0.0'),
    run: async ({ sim, seal }, options) =>
      sim.machines.createMachine(
        {
          name: 'faulty',
          image: 'node',
          version: '1.0.0',
          digest: (await seal({ version: '1.0.0' })).digest,
          size: 'small',
          firmware: 'uefi',
          userData: '{}',
          tags: {},
        },
        options,
      ),
    done: ({ sim, options }) => sim.machines.getMachine('faulty', options),
  },
  {
    call: 'disks.createSnapshot',
    name: 'faulty',
    prepare: (fixture) => fixture.pool('web', 1),
    run: async ({ sim, options: own }, options) => {
      const disk = (await sim.pools.getNode('web', 'web-000000', own))?.osDisk ?? '';
      await sim.disks.createSnapshot({ name: 'faulty', disk, tags: {} }, options);
    },
    done: ({ sim, options }) => sim.disks.getSnapshot('faulty', options),
  },
  {
    call: 'builder.build',
    name: 'sha256:faulty',
    run: ({ sim }, options) => sim.builder.build(request, silent, options),
    done: ({ sim, options }) => sim.builder.find('sha256:faulty', options),
  },
];

interface Expected {
  readonly kind: FaultKind;
  readonly says?: ErrorCode;
  readonly crashes?: boolean;
  readonly done: boolean;
}

const expectations: readonly Expected[] = [
  { kind: 'fails', says: 'provider-failed', done: false },
  { kind: 'fails-but-took-effect', says: 'provider-failed', done: true },
  { kind: 'succeeds-but-did-nothing', done: false },
  { kind: 'reply-lost', says: 'provider-no-reply', done: true },
  { kind: 'hangs', says: 'provider-timeout', done: false },
  { kind: 'throttled', says: 'provider-throttled', done: false },
  { kind: 'slow', done: true },
  { kind: 'dies-before', crashes: true, done: false },
  { kind: 'dies-after', crashes: true, done: true },
];

describe.each(roleCalls)('at $call', (roleCall) => {
  async function prepared(): Promise<SimFixture> {
    const fixture = simFixture();
    await roleCall.prepare?.(fixture);
    return fixture;
  }

  it.each(expectations)('$kind: says $says, and what it did is $done', async (expected) => {
    const fixture = await prepared();
    const { sim, clock } = fixture;
    sim.faults.add({ kind: expected.kind, call: roleCall.call, name: roleCall.name, ms: 90_000 });
    const began = clock.now();
    const thrown = await roleCall.run(fixture, fixture.options).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (expected.crashes) expect(thrown).toBeInstanceOf(SimCrash);
    else expect((thrown as ImagoError | undefined)?.code).toBe(expected.says);
    if (expected.kind === 'throttled') expect((thrown as ImagoError).details?.retryAfterMs).toBe(90_000);
    if (expected.kind === 'slow') expect(clock.now() - began).toBeGreaterThanOrEqual(90_000);
    expect((await roleCall.done(fixture)) !== undefined).toBe(expected.done);
    expect(sim.faults.list()).toMatchObject([{ seen: 1, hits: 1, spent: true }]);

    await roleCall.run(fixture, fixture.options);
    expect(await roleCall.done(fixture)).toBeDefined();
  });

  it.each(['hangs', 'slow'] as const)('%s releases a caller that aborts, and did nothing', async (kind) => {
    const fixture = await prepared();
    fixture.sim.faults.add({ kind, call: roleCall.call, name: roleCall.name });
    const abort = new AbortController();
    const call = roleCall.run(fixture, { ...fixture.options, signal: abort.signal });
    const reason = new Error('gave up');
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    abort.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(await roleCall.done(fixture)).toBeUndefined();
  });
});

describe('fails-later', () => {
  it('a version ends failed with the ordered text, and can be tried again', async () => {
    const { sim, clock, options, publish, seal, versionSpec } = simFixture();
    await publish('1.0.0');
    sim.faults.add({ kind: 'fails-later', call: 'gallery.createVersion', message: 'the disk is broken' });
    await sim.gallery.createVersion(versionSpec('2.0.0', await seal()), options);
    expect((await sim.gallery.getVersion('node', '2.0.0', options))?.state).toBe('creating');
    await clock.advance(600_000);
    expect(await sim.gallery.getVersion('node', '2.0.0', options)).toMatchObject({
      state: 'failed',
      error: { message: 'the disk is broken.' },
    });
    await sim.gallery.createVersion(versionSpec('2.0.0', await seal()), options);
    await clock.advance(600_000);
    expect((await sim.gallery.getVersion('node', '2.0.0', options))?.state).toBe('ready');
  });

  it('nodes, machines and snapshots end failed; a deletion comes to nothing', async () => {
    const { sim, clock, options, pool } = simFixture();
    const spec = await pool('web', 1);
    sim.faults.add({ kind: 'fails-later', call: '*', count: 'always' });
    await sim.pools.setCapacity('web', 2, {}, options);
    const { image, version, digest } = spec.model;
    const machine = {
      name: 'm',
      image,
      version,
      digest,
      size: 's',
      firmware: 'bios',
      userData: '',
      tags: {},
    } as const;
    await sim.machines.createMachine(machine, options);
    const disk = (await sim.pools.getNode('web', 'web-000000', options))?.osDisk ?? '';
    await sim.disks.createSnapshot({ name: 's', disk, tags: {} }, options);
    await sim.pools.deletePool('web', options);
    await clock.advance(3_600_000);
    const { nodes, machines, snapshots } = sim.world.view();
    expect(nodes.map((node) => node.state)).toEqual(['ready', 'failed']);
    expect(machines.map((one) => one.state)).toEqual(['failed']);
    expect(snapshots.map((one) => one.state)).toEqual(['failed']);
  });
});

describe('which call is struck', () => {
  it('counts only calls that match, lets some pass, and stops after the last', async () => {
    const { sim, options } = simFixture();
    sim.faults.add({ kind: 'fails', call: 'gallery.getImage', name: 'a*', after: 1, count: 2 });
    const answers: string[] = [];
    for (const name of ['a', 'b', 'ab', 'a', 'a']) {
      answers.push(
        await sim.gallery.getImage(name, options).then(
          () => 'answered',
          () => 'struck',
        ),
      );
    }
    await sim.gallery.listImages({ limit: 1 }, options);
    expect(answers).toEqual(['answered', 'answered', 'struck', 'struck', 'answered']);
    expect(sim.faults.list()).toMatchObject([{ seen: 3, hits: 2, spent: true }]);
  });

  it('only calls to the gallery that the fault names are struck', async () => {
    const { sim, options } = simFixture();
    await sim.galleries.createGallery({ name: 'public' }, options);
    sim.faults.add({ kind: 'fails', call: 'gallery.*', gallery: 'public', count: 'always' });
    expect(await sim.gallery.getImage('node', options)).toBeUndefined();
    const refused = sim.galleries.open('public').getImage('node', options);
    await expect(refused).rejects.toMatchObject({ code: 'provider-failed' });
  });

  it('a star matches any role, method, and name, and dots match themselves', async () => {
    const { sim, options } = simFixture();
    const strikes = async (call: string, name?: string) => {
      sim.faults.clear();
      sim.faults.add({ kind: 'fails', call, count: 'always', ...(name === undefined ? {} : { name }) });
      return sim.gallery.getVersion('node', '1.2.3', options).then(
        () => false,
        () => true,
      );
    };
    expect(await strikes('*')).toBe(true);
    expect(await strikes('gallery.*')).toBe(true);
    expect(await strikes('*.getVersion')).toBe(true);
    expect(await strikes('galler.*')).toBe(false);
    expect(await strikes('gallery.getVersion', 'node/1.2.*')).toBe(true);
    expect(await strikes('gallery.getVersion', 'node/1x2x3')).toBe(false);
    expect(await strikes('gallery.getVersion', 'node')).toBe(false);
  });

  it('of two that match, the first strikes and the second waits for its turn', async () => {
    const { sim, options } = simFixture();
    sim.faults.add({ kind: 'throttled', call: '*' });
    sim.faults.add({ kind: 'fails', call: '*' });
    const codes: string[] = [];
    for (let call = 0; call < 3; call++) {
      codes.push(
        await sim.gallery.getImage('a', options).then(
          () => 'answered',
          (error: ImagoError) => error.code,
        ),
      );
    }
    expect(codes).toEqual(['provider-throttled', 'provider-failed', 'answered']);
  });

  it('a read that did nothing sees nothing', async () => {
    const { sim, options, pool } = simFixture();
    await pool('web', 2);
    sim.faults.add({ kind: 'succeeds-but-did-nothing', call: 'pools.*', count: 2 });
    expect(await sim.pools.getPool('web', options)).toBeUndefined();
    expect(await sim.pools.listNodes('web', { limit: 5 }, options)).toEqual({ items: [] });
    expect((await sim.pools.listNodes('web', { limit: 5 }, options)).items).toHaveLength(2);
  });

  it('a removed fault no longer applies, and removing it again reports that', async () => {
    const { sim, options } = simFixture();
    const { id } = sim.faults.add({ kind: 'fails', call: '*' });
    expect(sim.faults.remove(id)).toBe(true);
    expect(sim.faults.remove(id)).toBe(false);
    expect(await sim.gallery.getImage('a', options)).toBeUndefined();
  });

  it.each([
    { kind: 'explodes', call: '*' },
    { kind: 'fails', call: 'pools setModel' },
    { kind: 'fails', call: '*', after: -1 },
    { kind: 'fails', call: '*', count: 0 },
    { kind: 'slow', call: '*', ms: -5 },
    { kind: 'slow', call: '*', factor: 0 },
  ])('%o cannot be ordered', (spec) => {
    const { sim } = simFixture();
    expect(() => sim.faults.add(spec as never)).toThrow('cannot be ordered');
    expect(sim.faults.list()).toEqual([]);
  });
});

describe('a call that arrives late', () => {
  it.each(['pools.setCapacity', 'builder.build'])(
    '%s of an owner who is stale by then is refused',
    async (call) => {
      const roleCall = roleCalls.find((one) => one.call === call);
      if (roleCall === undefined) throw new Error(`No role has ${call}.`);
      const fixture = simFixture();
      const { sim, options } = fixture;
      await roleCall.prepare?.(fixture);
      sim.faults.add({ kind: 'slow', call, ms: 60_000 });
      const late = roleCall.run(fixture, options);
      await sim.gallery.getImage('any', { ...options, epoch: options.epoch + 1 });
      await expect(late).rejects.toMatchObject({ code: 'owner-stale' });
      expect(await roleCall.done(fixture)).toBeUndefined();
    },
  );
});

describe('a stretched duration', () => {
  it('makes what the call starts take so many times as long', async () => {
    const { sim, clock, options, pool } = simFixture();
    await pool('web', 1);
    sim.faults.add({ kind: 'slow', call: 'pools.stopNode', ms: 0, factor: 100 });
    await sim.pools.stopNode('web', 'web-000000', options);
    await clock.advance(60_000);
    expect((await sim.pools.getNode('web', 'web-000000', options))?.power).toBe('stopping');
    await clock.advance(2_000_000);
    expect((await sim.pools.getNode('web', 'web-000000', options))?.power).toBe('stopped');
  });
});
