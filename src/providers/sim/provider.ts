// The simulated provider: a whole cloud in one file, with Azure's durations, limits and habits, where time runs
// as fast as one likes and faults can be ordered at any call.

import { cloudDisks } from '../../cloud/disk/disks.ts';
import { createFaults, type SimFaults } from '../../cloud/faults/faults.ts';
import { withFaults } from '../../cloud/faults/faulty-provider.ts';
import { azureCeilings, type Ceilings } from '../../cloud/faults/throttle.ts';
import { cloudGalleries } from '../../cloud/gallery/galleries.ts';
import { cloudGallery } from '../../cloud/gallery/gallery.ts';
import { cloudMachines } from '../../cloud/machine/machines.ts';
import { cloudNodeConfigs } from '../../cloud/pool/node-configs.ts';
import { cloudPools } from '../../cloud/pool/pools.ts';
import { findGallery } from '../../cloud/state/gallery-rows.ts';
import { type Limits, simLimits } from '../../cloud/state/limits.ts';
import { openCloudState } from '../../cloud/state/schema.ts';
import type { World } from '../../cloud/state/state-file.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ClusterWorld } from '../../ports/kube/world.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { Disks } from '../../ports/provider/disks.ts';
import type { Galleries, Gallery } from '../../ports/provider/gallery.ts';
import type { Machines } from '../../ports/provider/machines.ts';
import type { NodeConfigs } from '../../ports/provider/node-configs.ts';
import type { Pools } from '../../ports/provider/pools.ts';
import type { Abilities, Provider } from '../../ports/provider/provider.ts';
import type { SimControl } from '../../ports/provider/sim-control.ts';
import { sealedFrom, simBuilder } from './build/builder.ts';
import { lockOf } from './build/plan.ts';
import { createVirtualExecutor, type WriteWindows } from './executor.ts';
import { createWorldHand, type WorldHand } from './external-actor.ts';
import { clusterWorld } from './machine/cluster-world.ts';
import type { SimContext } from './world/context.ts';
import { azureDurations, createDurationOf, type Durations } from './world/durations.ts';
import { createSimControl, openTime } from './world/time.ts';

export const simRegions = ['westeurope', 'northeurope', 'eastus', 'uksouth'] as const;

export interface SimProviderOptions {
  /** The file that holds the world; its folder is made. Absent: a world that lives and dies with the process. */
  readonly file?: string;
  /** Tests give a virtual clock. Absent: one that runs `timeScale` times as fast as real time. */
  readonly clock?: Clock;
  /** Absent: as fast as this world ran the last time, 1000 at first. */
  readonly timeScale?: number;
  /** Another seed gives other durations and ids. Fixed when the world is made. */
  readonly seed?: string;
  /** What it can do, where that is less or other than everything. */
  readonly abilities?: Partial<Abilities>;
  readonly durations?: Partial<Durations>;
  readonly limits?: Partial<Limits>;
  /** `{}` never throttles. Absent: as Azure does. */
  readonly ceilings?: Ceilings;
  /** Absent: the disk of a scripted Windows is made up, and not judged. */
  readonly writeWindows?: WriteWindows;
  /** What a fault that kills the process does. Absent: `kill -9` for a world in a file, `SimCrash` otherwise. */
  readonly die?: () => void;
}

export interface SimProvider extends Provider {
  readonly gallery: Gallery;
  readonly galleries: Galleries;
  readonly pools: Pools;
  readonly nodeConfigs: NodeConfigs;
  readonly machines: Machines;
  readonly disks: Disks;
  readonly builder: Builder;
  readonly faults: SimFaults;
  /** The same faults, and the time, as the daemon's routes steer them. */
  readonly control: SimControl;
  /** What the simulated cluster is made of. */
  readonly cluster: ClusterWorld;
  /** The hand of others in this world, and a view of all that is in it. */
  readonly world: WorldHand;
}

const allAbilities: Abilities = {
  orchestration: ['uniform', 'flexible'],
  reimage: true,
  upgrade: true,
  protect: true,
  regions: simRegions,
  excludeFromLatest: true,
  deletionGuard: true,
  galleryDigest: true,
  snapshots: true,
  runCommand: true,
  windows: true,
  fencing: true,
  simulated: true,
  ownClock: true,
};

const defaultGallery = 'imago';
const simState = { name: 'The simulated world', unusable: 'sim-world-unusable' } as const;

/** Opens the world as it was left, also by a process that was killed, or makes an empty one. */
export function createSimProvider(options: SimProviderOptions = {}): SimProvider {
  const world = openCloudState(options.file, simState);
  try {
    return providerOf(world, options);
  } catch (thrown) {
    world.close();
    throw thrown;
  }
}

function providerOf(world: World, options: SimProviderOptions): SimProvider {
  const time = openTime(world, options);
  const abilities = { ...allAbilities, ...options.abilities };
  const homeRegion = abilities.regions[0] ?? 'here';
  const seed = world.transaction(() => settle(world, options.seed ?? 'imago', homeRegion));
  const parts: Omit<SimContext, 'executor'> = {
    world,
    clock: time.clock,
    abilities,
    limits: { ...simLimits, ...options.limits },
    durationOf: createDurationOf({ ...azureDurations, ...options.durations }, seed),
    homeRegion,
    defaultGallery,
    longestGalleryName: 80,
    nodeNumberRadix: 10,
    zones: ['1', '2', '3'],
  };
  const context: SimContext = { ...parts, executor: createVirtualExecutor(parts, options.writeWindows) };
  const faults = createFaults(world);
  const provider: SimProvider = {
    name: 'sim',
    abilities,
    clock: time.clock,
    gallery: cloudGallery(context, defaultGallery),
    galleries: cloudGalleries(context),
    pools: cloudPools(context),
    nodeConfigs: cloudNodeConfigs(context),
    machines: cloudMachines(context),
    disks: cloudDisks(context),
    builder: simBuilder(context),
    faults,
    control: createSimControl(faults, time),
    cluster: clusterWorld(context),
    world: createWorldHand(context),
    close: async () => world.close(),
  };
  return withFaults(provider, {
    world,
    clock: time.clock,
    ceilings: options.ceilings ?? azureCeilings,
    die: options.die ?? (options.file === undefined ? () => undefined : killThisProcess),
    unmade: { 'builder.lock': lockOf, 'builder.build': sealedFrom },
  });
}

/** What every world has from its first moment on; a world that has it keeps it. */
function settle(world: World, seed: string, homeRegion: string): string {
  const kept = world.fact('seed') ?? seed;
  world.setFact('seed', kept);
  if (findGallery(world, defaultGallery) === undefined) {
    world.insert('gallery', { name: defaultGallery, region: homeRegion });
  }
  return kept;
}

function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
