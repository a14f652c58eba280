// For tests: a simulated provider on a virtual clock, with the shorthand that they share.
import type { Lock } from '../../../src/domain/lock/lock.ts';
import type { Json } from '../../../src/domain/value/json.ts';
import type { SealedDisk } from '../../../src/ports/provider/builder.ts';
import type { CallOptions } from '../../../src/ports/provider/call.ts';
import type { GalleryVersionSpec } from '../../../src/ports/provider/gallery.ts';
import type { PoolModel, PoolSpec } from '../../../src/ports/provider/pools.ts';
import {
  createSimProvider,
  type SimProvider,
  type SimProviderOptions,
} from '../../../src/providers/sim/provider.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

export const silent = { progress: () => undefined, log: () => undefined };

export interface SimFixture {
  readonly sim: SimProvider;
  readonly clock: VirtualClock;
  readonly options: CallOptions;
  /** Builds a disk from the lock. */
  seal(lock?: Json): Promise<SealedDisk>;
  versionSpec(version: string, disk: SealedDisk): GalleryVersionSpec;
  /** Version of image `node`, ready in the home region; made from a disk of its own unless one is given. */
  publish(version: string, disk?: SealedDisk): Promise<PoolModel>;
  poolSpec(name: string, capacity: number, model: PoolModel): PoolSpec;
  /** A pool of nodes of `node:1.0.0` that are ready and healthy. */
  pool(name: string, capacity: number): Promise<PoolSpec>;
}

const hour = 3_600_000;

export function simFixture(given: SimProviderOptions = {}): SimFixture {
  const clock = createVirtualClock({ auto: true });
  const sim = createSimProvider({ clock, ceilings: {}, ...given });
  const options: CallOptions = { signal: new AbortController().signal, epoch: 1 };

  async function seal(lock: Json = {}): Promise<SealedDisk> {
    const lockDigest = `sha256:${JSON.stringify(lock)}`;
    return sim.builder.build({ lockDigest, lock: lock as Lock }, silent, options);
  }

  function versionSpec(version: string, disk: SealedDisk): GalleryVersionSpec {
    const source = { kind: 'disk', digest: disk.diskDigest } as const;
    return { image: 'node', version, source, regions: [], excludeFromLatest: false, tags: {} };
  }

  async function publish(version: string, given?: SealedDisk): Promise<PoolModel> {
    const disk = given ?? (await seal({ version }));
    await sim.gallery.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
    await sim.gallery.createVersion(versionSpec(version, disk), options);
    await clock.advance(hour);
    return { image: 'node', version, digest: disk.digest, size: 'small', nodeConfig: '{}', tags: {} };
  }

  function poolSpec(name: string, capacity: number, model: PoolModel): PoolSpec {
    return { name, orchestration: 'uniform', model, capacity };
  }

  return {
    sim,
    clock,
    options,
    seal,
    versionSpec,
    publish,
    poolSpec,
    async pool(name, capacity) {
      const spec = poolSpec(name, capacity, await publish('1.0.0'));
      await sim.pools.createPool(spec, options);
      await clock.advance(hour);
      return spec;
    },
  };
}
