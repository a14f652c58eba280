// The local provider: real machines of sealed disks on this host, with the roles of a cloud.
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { cloudDisks } from '../../cloud/disk/disks.ts';
import { cloudGalleries } from '../../cloud/gallery/galleries.ts';
import { cloudGallery } from '../../cloud/gallery/gallery.ts';
import { cloudMachines } from '../../cloud/machine/machines.ts';
import { cloudNodeConfigs } from '../../cloud/pool/node-configs.ts';
import { cloudPools } from '../../cloud/pool/pools.ts';
import type { Cloud } from '../../cloud/state/cloud.ts';
import { findGallery } from '../../cloud/state/gallery-rows.ts';
import { machineById, userDataOf } from '../../cloud/state/machine-rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { NodeAccess } from '../../ports/provider/access.ts';
import type { Builder } from '../../ports/provider/builder.ts';
import type { Disks } from '../../ports/provider/disks.ts';
import type { Galleries, Gallery } from '../../ports/provider/gallery.ts';
import type { Machines } from '../../ports/provider/machines.ts';
import type { NodeConfigs } from '../../ports/provider/node-configs.ts';
import type { Pools } from '../../ports/provider/pools.ts';
import type { Abilities, Provider } from '../../ports/provider/provider.ts';
import { createHostExecutor } from './executor.ts';
import { hostAccess } from './host/node-access.ts';
import type { MachineHost } from './qemu/machine-host.ts';
import { resumeMachines } from './resume.ts';
import { type HostContext, type LocalLimits, localPaths, openLocalState } from './state/context.ts';
import {
  createImageCache,
  defaultImageLimits,
  type ImageCache,
  type ImageCacheLimits,
} from './state/image-cache.ts';
import { type MemoryGauge, systemGauge } from './state/memory.ts';
import { createLocalWorker, type LocalWorker } from './work.ts';

export interface LocalProviderOptions {
  /** The directory of the provider; created for its owner alone. */
  readonly folder: string;
  /** Holds the disks of versions. Stays open until the provider is closed; then it is the caller's to close. */
  readonly store: DiskStore;
  /** Runs the machines. The provider adopts them, and releases them when it is closed. */
  readonly host: MachineHost;
  readonly clock: Clock;
  /** The role that seals disks into the same store. */
  readonly builder?: Builder;
  readonly memory?: MemoryGauge;
  readonly limits?: Partial<LocalLimits>;
  readonly imageLimits?: ImageCacheLimits;
  /** Work in the background that failed and is tried again. */
  readonly onTrouble?: (what: string, error: unknown) => void;
  /** Called when work that was in trouble has succeeded. */
  readonly onRepaired?: (what: string) => void;
}

export interface LocalProvider extends Provider {
  readonly gallery: Gallery;
  readonly galleries: Galleries;
  readonly pools: Pools;
  readonly nodeConfigs: NodeConfigs;
  readonly machines: Machines;
  readonly disks: Disks;
  readonly access: NodeAccess;
  /** Machines by their `machineId`, for what goes beyond the roles. */
  readonly host: MachineHost;
  readonly images: ImageCache;
  /** Resolves when no work is in progress, except work that waits for a machine. */
  idle(): Promise<void>;
}

const localAbilities: Abilities = {
  orchestration: ['uniform', 'flexible'],
  reimage: true,
  upgrade: true,
  protect: true,
  regions: [],
  excludeFromLatest: true,
  deletionGuard: true,
  galleryDigest: true,
  snapshots: true,
  forwards: true,
  runCommand: true,
  fencing: true,
  simulated: false,
  ownClock: false,
};

const defaultGallery = 'imago';
const homeRegion = 'local';

const defaultLimits: LocalLimits = {
  bootMs: 10 * 60_000,
  stopMs: 120_000,
  silenceMs: 180_000,
  bootsAtOnce: availableParallelism(),
  diskBytes: 8 * 1024 ** 3,
};

/** Opens the state of an earlier process, finds its machines again, and continues its work. */
export async function createLocalProvider(options: LocalProviderOptions): Promise<LocalProvider> {
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const paths = localPaths(options.folder);
  const world = openLocalState(paths.world);
  try {
    world.goBy(options.clock);
    return await providerOf(world, options);
  } catch (thrown) {
    world.close();
    throw thrown;
  }
}

async function providerOf(world: World, options: LocalProviderOptions): Promise<LocalProvider> {
  const { host, store, clock } = options;
  const paths = localPaths(options.folder);
  const limits = { ...defaultLimits, ...options.limits };
  const images = createImageCache(paths.images, store, options.imageLimits ?? defaultImageLimits, clock.now);
  const worker: LocalWorker = createLocalWorker(() => context, {
    onTrouble: () => undefined,
    ...options,
  });
  await host.adopt();
  const unwatch = host.watch(({ id }) => worker.machine(id));
  const context: HostContext = {
    ...{ world, clock, store, host, images, paths, defaultGallery, limits, work: worker },
    memory: options.memory ?? systemGauge,
  };
  const cloud: Cloud = {
    ...{ world, defaultGallery, homeRegion },
    abilities: localAbilities,
    limits: {},
    longestGalleryName: 32,
    nodeNumberRadix: 36,
    zones: [],
    executor: createHostExecutor(context),
  };
  world.transaction(() => {
    if (findGallery(world, defaultGallery) === undefined) {
      world.insert('gallery', { name: defaultGallery, region: homeRegion });
    }
    resumeMachines(context);
  });
  worker.begin();
  let closed: Promise<void> | undefined;
  return {
    name: 'local',
    abilities: localAbilities,
    clock,
    gallery: cloudGallery(cloud, defaultGallery),
    galleries: cloudGalleries(cloud),
    pools: cloudPools(cloud),
    nodeConfigs: cloudNodeConfigs(cloud),
    machines: cloudMachines(cloud),
    disks: cloudDisks(cloud),
    ...(options.builder === undefined ? {} : { builder: options.builder }),
    access: hostAccess(host),
    identities: {
      identify(token, resource) {
        const machineId = host.identify(token, resource);
        if (machineId === undefined) return undefined;
        return world.transaction(() => {
          const row = machineById(world, machineId);
          if (row?.pool == null || row.deletedAt !== null) return undefined;
          const isNamed = userDataOf(world, row).includes(JSON.stringify(resource));
          return isNamed ? { pool: row.pool, node: row.name } : undefined;
        });
      },
    },
    host,
    images,
    idle: () => worker.idle(),
    close() {
      closed ??= (async () => {
        unwatch();
        await worker.close();
        await host.close({ leaveRunning: true });
        world.close();
      })();
      return closed;
    },
  };
}
