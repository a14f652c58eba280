// What the work on this host shares, and where its files are.
import { join } from 'node:path';
import type { VersionKey } from '../../../cloud/state/rows.ts';
import { openCloudState } from '../../../cloud/state/schema.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { DiskStore } from '../../../oci/disks/disk-store.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { MachineHost } from '../qemu/machine-host.ts';
import type { ImageCache } from './image-cache.ts';
import type { MemoryGauge } from './memory.ts';

export interface HostContext {
  readonly world: World;
  readonly defaultGallery: string;
  readonly clock: Clock;
  readonly store: DiskStore;
  readonly host: MachineHost;
  readonly images: ImageCache;
  readonly memory: MemoryGauge;
  readonly paths: LocalPaths;
  readonly limits: LocalLimits;
  /** Starts, or resumes, the work that is due according to the rows. */
  readonly work: HostWork;
}

export interface HostWork {
  machine(machineId: string): void;
  version(key: VersionKey): void;
  snapshot(name: string): void;
}

export interface LocalLimits {
  /** How long a machine may take from its start until its agent has made it a node, or has failed to. */
  readonly bootMs: number;
  /** How long a machine may take to power off before it is ended. */
  readonly stopMs: number;
  /**
   * How long the agent of a ready node can go without a report before the node's health is unknown. It reports every
   * 30 s, or 65 s if the metadata service is slow; an emulated machine on a busy host takes longer.
   */
  readonly silenceMs: number;
  /** Machines that boot at the same time; the others wait. */
  readonly bootsAtOnce: number;
  /** The minimum size of a machine's disk, most of it holes. */
  readonly diskBytes: number;
}

export interface LocalPaths {
  readonly world: string;
  readonly images: string;
  readonly machines: string;
  readonly snapshots: string;
  readonly work: string;
}

/** Returns where things are in the provider's folder. */
export function localPaths(folder: string): LocalPaths {
  return {
    world: join(folder, 'local.db'),
    images: join(folder, 'images'),
    machines: join(folder, 'machines'),
    snapshots: join(folder, 'snapshots'),
    work: join(folder, 'work'),
  };
}

/** Opens the provider's state, or makes an empty one. */
export function openLocalState(file: string): World {
  return openCloudState(file, {
    name: 'The state of the local provider',
    unusable: 'local-state-unusable',
  });
}

export function machineFolder({ paths }: HostContext, machineId: string): string {
  return join(paths.machines, machineId);
}
