// The simulated provider: a whole cloud in one file, with Azure's durations, limits and habits, where time runs
// as fast as one likes and faults can be ordered at any call.
import type { Clock } from '../../ports/clock.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { Disks } from '../../ports/provider/disks.ts';
import type { Galleries, Gallery } from '../../ports/provider/gallery.ts';
import type { Machines } from '../../ports/provider/machines.ts';
import type { NodeConfigs } from '../../ports/provider/node-configs.ts';
import type { Pools } from '../../ports/provider/pools.ts';
import type { Abilities, Provider } from '../../ports/provider/provider.ts';
import type { SimControl } from '../../ports/provider/sim-control.ts';
import { findGallery } from '../common/gallery-rows.ts';
import { simBuilder } from './build/builder.ts';
import { simDisks } from './disk/disks.ts';
import { createWorldHand, type WorldHand } from './external-actor.ts';
import { simGalleries } from './gallery/galleries.ts';
import { simGallery } from './gallery/gallery.ts';
import { simMachines } from './machine/machines.ts';
import { simNodeConfigs } from './pool/node-configs.ts';
import { simPools } from './pool/pools.ts';
import { createSimCall } from './world/call.ts';
import type { SimContext } from './world/context.ts';
import { azureDurations, createDurationOf, type Durations } from './world/durations.ts';
import { createFaults, type SimFaults } from './world/faults.ts';
import { type Limits, simLimits } from './world/limits.ts';
import { azureCeilings, type Ceilings } from './world/throttle.ts';
import { createSimControl, openTime } from './world/time.ts';
import { openWorld, type World } from './world/world.ts';

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
  fencing: true,
  simulated: true,
  ownClock: true,
};

const defaultGallery = 'imago';

/** Opens the world as it was left, also by a process that was killed, or makes an empty one. */
export function createSimProvider(options: SimProviderOptions = {}): SimProvider {
  const world = openWorld(options.file);
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
  const context: SimContext = {
    world,
    clock: time.clock,
    call: createSimCall({
      world,
      clock: time.clock,
      ceilings: options.ceilings ?? azureCeilings,
      fencing: abilities.fencing,
      die: options.die ?? (options.file === undefined ? () => undefined : killThisProcess),
    }),
    abilities,
    limits: { ...simLimits, ...options.limits },
    durationOf: createDurationOf({ ...azureDurations, ...options.durations }, seed),
    homeRegion,
    defaultGallery,
  };
  const faults = createFaults(world);
  return {
    name: 'sim',
    abilities,
    clock: time.clock,
    gallery: simGallery(context, defaultGallery),
    galleries: simGalleries(context),
    pools: simPools(context),
    nodeConfigs: simNodeConfigs(context),
    machines: simMachines(context),
    disks: simDisks(context),
    builder: simBuilder(context),
    faults,
    control: createSimControl(faults, time),
    world: createWorldHand(context),
    close: async () => world.close(),
  };
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
