// Random calls with random faults: whatever the order, the world keeps its promises.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SimFixture, simFixture } from '../../../test/support/sim/fixture.ts';
import { patience } from '../../../test/support/speed.ts';
import { SimCrash } from '../../cloud/faults/faulty-provider.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { SealedDisk } from '../../ports/provider/builder.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { PoolModel } from '../../ports/provider/pools.ts';
import { type FaultKind, faultKinds } from '../../ports/provider/sim-control.ts';
import type { WorldView } from './external-actor.ts';

interface Stage extends SimFixture {
  readonly disks: readonly SealedDisk[];
}

type Call = (options: CallOptions) => Promise<unknown>;

/** The action, determined in advance so that it can be repeated. */
interface Act {
  readonly says: string;
  readonly call: Call;
  /** Protected nodes that it can delete. */
  readonly mayTake?: (node: { readonly pool: string; readonly name: string }) => boolean;
}

type MakeAct = (stage: Stage, view: WorldView) => Act;

const small = fc.nat({ max: 2 });
const versionNumber = small.map((patch) => `1.0.${patch}`);
const poolName = fc.constantFrom('red', 'blue');
const etag = fc.constantFrom('none', 'fresh', 'stale');

function modelOf({ disks }: Stage, version: string, nodeConfig: string): PoolModel {
  const digest = disks[0]?.digest ?? '';
  return { image: 'node', version, digest, size: 'small', nodeConfig, tags: {} };
}

function conditionOf(view: WorldView, pool: string, kind: string): { readonly ifMatch?: string } {
  if (kind === 'none') return {};
  return { ifMatch: kind === 'stale' ? 'stale' : (view.pools.find((one) => one.name === pool)?.etag ?? '') };
}

function nodeAt(view: WorldView, index: number): { readonly pool: string; readonly name: string } {
  return view.nodes[index % Math.max(1, view.nodes.length)] ?? { pool: 'red', name: 'none' };
}

const galleryActs: fc.Arbitrary<MakeAct> = fc.oneof(
  fc.tuple(versionNumber, small, fc.nat({ max: 3 })).map(
    ([version, disk, regions]): MakeAct =>
      (stage) => ({
        says: `createVersion ${version} from disk ${disk} in ${regions} regions`,
        call: (options) =>
          stage.sim.gallery.createVersion(
            {
              ...stage.versionSpec(version, stage.disks[disk] as SealedDisk),
              regions: stage.sim.abilities.regions
                .slice(0, regions)
                .map((region) => ({ region, replicas: 1 })),
            },
            options,
          ),
      }),
  ),
  fc.tuple(versionNumber, fc.integer({ min: 1, max: 3 }), fc.boolean()).map(
    ([version, regions, allowRegionRemoval]): MakeAct =>
      ({ sim }) => ({
        says: `updateVersion ${version} to ${regions} regions`,
        call: (options) =>
          sim.gallery.updateVersion(
            'node',
            version,
            {
              regions: sim.abilities.regions.slice(0, regions).map((region) => ({ region, replicas: 2 })),
              allowRegionRemoval,
            },
            options,
          ),
      }),
  ),
  versionNumber.map(
    (version): MakeAct =>
      ({ sim }) => ({
        says: `deleteVersion ${version}`,
        call: (options) => sim.gallery.deleteVersion('node', version, options),
      }),
  ),
);

const poolActs: fc.Arbitrary<MakeAct> = fc.oneof(
  fc.tuple(poolName, versionNumber, fc.nat({ max: 5 }), fc.constantFrom('uniform', 'flexible')).map(
    ([name, version, capacity, orchestration]): MakeAct =>
      (stage) => ({
        says: `createPool ${name} of ${capacity} from ${version}, ${orchestration}`,
        call: (options) =>
          stage.sim.pools.createPool(
            { name, orchestration: orchestration as 'uniform', capacity, model: modelOf(stage, version, '') },
            options,
          ),
      }),
  ),
  fc.tuple(poolName, versionNumber, fc.constantFrom('', 'labels'), etag).map(
    ([name, version, config, kind]): MakeAct =>
      (stage, view) => ({
        says: `setModel ${name} to ${version} ${config} (${kind} etag)`,
        call: (options) =>
          stage.sim.pools.setModel(
            name,
            modelOf(stage, version, config),
            conditionOf(view, name, kind),
            options,
          ),
      }),
  ),
  fc.tuple(poolName, fc.nat({ max: 6 }), etag).map(
    ([name, capacity, kind]): MakeAct =>
      ({ sim }, view) => ({
        says: `setCapacity ${name} to ${capacity} (${kind} etag)`,
        call: (options) => sim.pools.setCapacity(name, capacity, conditionOf(view, name, kind), options),
      }),
  ),
);

const deletePoolActs: fc.Arbitrary<MakeAct> = poolName.map(
  (name): MakeAct =>
    ({ sim }) => ({
      says: `deletePool ${name}`,
      call: (options) => sim.pools.deletePool(name, options),
      mayTake: (node) => node.pool === name,
    }),
);

const nodeActs: fc.Arbitrary<MakeAct> = fc.oneof(
  fc.tuple(fc.constantFrom('stopNode', 'startNode', 'reimageNode', 'upgradeNode'), fc.nat({ max: 9 })).map(
    ([method, index]): MakeAct =>
      ({ sim }, view) => {
        const { pool, name } = nodeAt(view, index);
        return {
          says: `${method} ${name}`,
          call: (options) => sim.pools[method as 'stopNode'](pool, name, options),
        };
      },
  ),
  fc.tuple(fc.nat({ max: 9 }), fc.boolean(), fc.boolean()).map(
    ([index, fromScaleIn, fromPoolActions]): MakeAct =>
      ({ sim }, view) => {
        const { pool, name } = nodeAt(view, index);
        return {
          says: `protectNode ${name} ${fromScaleIn} ${fromPoolActions}`,
          call: (options) => sim.pools.protectNode(pool, name, { fromScaleIn, fromPoolActions }, options),
        };
      },
  ),
  fc.nat({ max: 9 }).map(
    (index): MakeAct =>
      ({ sim }, view) => {
        const taken = nodeAt(view, index);
        return {
          says: `deleteNode ${taken.name}`,
          call: (options) => sim.pools.deleteNode(taken.pool, taken.name, options),
          mayTake: (node) => node.name === taken.name,
        };
      },
  ),
);

const otherActs: fc.Arbitrary<MakeAct> = fc.oneof(
  fc.tuple(small, small).map(
    ([name, disk]): MakeAct =>
      ({ sim, disks }) => ({
        says: `createMachine ${name} from disk ${disk}`,
        call: (options) =>
          sim.machines.createMachine(
            {
              name: `machine-${name}`,
              image: 'node',
              version: '1.0.0',
              digest: disks[disk]?.digest ?? '',
              size: 'small',
              firmware: 'uefi',
              userData: '',
              tags: {},
            },
            options,
          ),
      }),
  ),
  fc.tuple(fc.constantFrom('stopMachine', 'startMachine', 'deleteMachine'), small).map(
    ([method, name]): MakeAct =>
      ({ sim }) => ({
        says: `${method} ${name}`,
        call: (options) => sim.machines[method as 'stopMachine'](`machine-${name}`, options),
      }),
  ),
  fc.tuple(small, fc.nat({ max: 9 })).map(
    ([name, index]): MakeAct =>
      ({ sim }, view) => {
        const disk = view.nodes[index % Math.max(1, view.nodes.length)]?.osDisk ?? 'none';
        return {
          says: `createSnapshot ${name} of ${disk}`,
          call: (options) => sim.disks.createSnapshot({ name: `snapshot-${name}`, disk, tags: {} }, options),
        };
      },
  ),
  fc.tuple(versionNumber, small).map(
    ([version, name]): MakeAct =>
      ({ sim, versionSpec, disks }) => ({
        says: `createVersion ${version} from snapshot ${name}`,
        call: (options) =>
          sim.gallery.createVersion(
            {
              ...versionSpec(version, disks[0] as SealedDisk),
              source: { kind: 'snapshot', name: `snapshot-${name}` },
            },
            options,
          ),
      }),
  ),
  small.map(
    (name): MakeAct =>
      ({ sim }) => ({
        says: `deleteSnapshot ${name}`,
        call: (options) => sim.disks.deleteSnapshot(`snapshot-${name}`, options),
      }),
  ),
);

const steps = fc.array(
  fc.record({
    act: fc.oneof(
      { weight: 4, arbitrary: galleryActs },
      { weight: 6, arbitrary: poolActs },
      { weight: 1, arbitrary: deletePoolActs },
      { weight: 8, arbitrary: nodeActs },
      { weight: 4, arbitrary: otherActs },
    ),
    fault: fc.option(fc.constantFrom(...faultKinds), { freq: 2 }),
    waitMs: fc.constantFrom(0, 0, 20_000, 100_000, 1_000_000),
  }),
  { minLength: 10, maxLength: 50, size: 'max' },
);

const doesNothing: readonly (FaultKind | null)[] = [
  'fails',
  'throttled',
  'hangs',
  'succeeds-but-did-nothing',
  'dies-before',
];

/** What never changes as long as a thing lives, by what names it. */
class Memory {
  readonly #known = new Map<string, string>();

  keeps(key: string, value: unknown): void {
    const text = JSON.stringify(value);
    expect(this.#known.get(key) ?? text, `${key} changed`).toBe(text);
    this.#known.set(key, text);
  }
}

function checkInvariants(view: WorldView, memory: Memory): void {
  const ids = [...view.nodes, ...view.machines].map((one) => one.machineId);
  expect(new Set(ids).size, 'machine ids are unique').toBe(ids.length);
  const names = view.nodes.map((node) => node.name);
  expect(new Set(names).size, 'node names are unique').toBe(names.length);
  for (const pool of view.pools) {
    const live = view.nodes.filter((node) => node.pool === pool.name && node.state !== 'deleting');
    if (pool.state !== 'deleting') expect(live.length, `nodes of ${pool.name}`).toBe(pool.capacity);
  }
  for (const { version, createdAt, source, diskDigest } of view.versions) {
    memory.keeps(`source of ${version} of ${createdAt}`, source);
    if (diskDigest !== undefined) memory.keeps(`content of ${version} of ${createdAt}`, diskDigest);
  }
  for (const node of view.nodes)
    memory.keeps(`name of ${node.machineId}`, [node.pool, node.name, node.createdAt]);
  for (const { disk, name, createdAt } of view.snapshots)
    memory.keeps(`snapshot ${name} of ${createdAt}`, disk);
}

/** Protected nodes are there afterwards, unless it was them that were meant. */
function checkProtected(before: WorldView, after: WorldView, act: Act): void {
  for (const node of before.nodes) {
    const safe = node.protection.fromScaleIn || node.protection.fromPoolActions;
    if (!safe || node.state === 'deleting' || act.mayTake?.(node)) continue;
    const now = after.nodes.find((one) => one.machineId === node.machineId);
    expect(now?.state, `${node.name} is protected, and ${act.says}`).not.toBe('deleting');
    expect(now, `${node.name} is protected, and ${act.says}`).toBeDefined();
  }
}

async function attempt(call: Call, options: CallOptions): Promise<unknown> {
  return call(options).then(
    () => undefined,
    (thrown: unknown) => {
      if (thrown instanceof ImagoError || thrown instanceof SimCrash) return thrown;
      throw thrown;
    },
  );
}

/** A world in which there is something to break: two versions and a pool of each kind. */
async function stageFor(): Promise<Stage> {
  const fixture = simFixture();
  const { sim, clock, options } = fixture;
  const disks: SealedDisk[] = [];
  for (const disk of [0, 1, 2]) disks.push(await fixture.seal({ disk }));
  const stage = { ...fixture, disks };
  for (const patch of [0, 1]) await fixture.publish(`1.0.${patch}`, disks[patch]);
  const model = modelOf(stage, '1.0.0', '');
  await sim.pools.createPool({ name: 'red', orchestration: 'uniform', capacity: 4, model }, options);
  await sim.pools.createPool({ name: 'blue', orchestration: 'flexible', capacity: 2, model }, options);
  await clock.advance(3_600_000);
  return stage;
}

const soak = process.env.IMAGO_SOAK === '1' ? 40 : 1;

describe('random calls with random faults', () => {
  it(
    'names stay unique, content stays, capacity is kept, protected nodes survive, refusals change nothing',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (plan) => {
          const stage = await stageFor();
          const { sim, clock, options } = stage;
          const memory = new Memory();
          for (const { act: makeAct, fault, waitMs } of plan) {
            const before = sim.world.view();
            const act = makeAct(stage, before);
            if (fault !== null) sim.faults.add({ kind: fault, call: '*', ms: 0 });
            const thrown = await attempt(act.call, options);
            const after = sim.world.view();
            const refused = thrown instanceof ImagoError && fault === null;
            if (refused || doesNothing.includes(fault))
              expect(after, `${act.says}, ${fault}`).toEqual(before);
            checkProtected(before, after, act);
            checkInvariants(after, memory);
            if (fault === null || fault === 'reply-lost' || fault === 'dies-after') {
              await attempt(act.call, options);
              expect(sim.world.view(), `${act.says}, again`).toEqual(after);
            }
            await clock.advance(waitMs);
          }
          sim.faults.clear();
          await clock.advance(6 * 3_600_000);
          const end = sim.world.view();
          checkInvariants(end, memory);
          const states = [...end.versions, ...end.pools, ...end.nodes, ...end.machines, ...end.snapshots].map(
            (one) => one.state,
          );
          expect(states.filter((state) => state !== 'ready' && state !== 'failed')).toEqual([]);
          expect(
            end.nodes
              .filter((node) => node.power !== 'running' && node.power !== 'stopped')
              .map((node) => node.name),
          ).toEqual([]);
        }),
        { numRuns: 50 * soak },
      );
    },
    patience(1_200_000),
  );

  it(
    'the same calls give the same world',
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (plan) => {
          const views: WorldView[] = [];
          for (const _ of [1, 2]) {
            const stage = await stageFor();
            for (const { act, waitMs } of plan) {
              await attempt(act(stage, stage.sim.world.view()).call, stage.options);
              await stage.clock.advance(waitMs);
            }
            views.push(stage.sim.world.view());
          }
          expect(views[0]).toEqual(views[1]);
        }),
        { numRuns: 10 * soak },
      );
    },
    patience(1_200_000),
  );
});
