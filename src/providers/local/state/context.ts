// What the roles of the local provider share.
import { join } from 'node:path';
import type { DiskStore } from '../../../oci/disks/disk-store.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import { checkEpoch, settled } from '../../common/owner.ts';
import type { World } from '../../common/state-database.ts';
import type { MachineHost } from '../qemu/machine-host.ts';
import type { ImageCache } from './image-cache.ts';
import type { MachineBoard } from './machine-status-cache.ts';
import type { MemoryGauge } from './memory.ts';

export interface LocalContext {
  readonly world: World;
  readonly clock: Clock;
  readonly store: DiskStore;
  readonly host: MachineHost;
  readonly board: MachineBoard;
  readonly images: ImageCache;
  readonly memory: MemoryGauge;
  readonly paths: LocalPaths;
  readonly defaultGallery: string;
  readonly limits: LocalLimits;
  /** Begins, or goes on with, what the rows say is to be done. */
  readonly work: LocalWork;
}

export interface LocalWork {
  machine(machineId: string): void;
  version(key: VersionKey): void;
  snapshot(name: string): void;
}

export interface VersionKey {
  readonly gallery: string;
  readonly image: string;
  readonly version: string;
}

export interface LocalLimits {
  /** How long a machine may take from its start until its agent has made it a node, or has failed to. */
  readonly bootMs: number;
  /** How long a machine may take to power off before it is ended. */
  readonly stopMs: number;
  /**
   * How long the agent of a node that is ready may be silent before nobody knows how the node is. It speaks every
   * 30 s, or 65 s when the metadata service keeps it waiting; an emulated machine on a busy computer takes longer.
   */
  readonly silenceMs: number;
  /** Machines that boot at the same time; the others wait. */
  readonly bootsAtOnce: number;
  /** A machine's disk has at least so many bytes, most of them holes. */
  readonly diskBytes: number;
}

export interface LocalPaths {
  readonly world: string;
  readonly images: string;
  readonly machines: string;
  readonly snapshots: string;
  readonly work: string;
}

/** Where things lie in the provider's folder. */
export function localPaths(folder: string): LocalPaths {
  return {
    world: join(folder, 'local.db'),
    images: join(folder, 'images'),
    machines: join(folder, 'machines'),
    snapshots: join(folder, 'snapshots'),
    work: join(folder, 'work'),
  };
}

/** A call that only looks, in one transaction. */
export async function look<T>(context: LocalContext, options: CallOptions, body: () => T): Promise<T> {
  return call(context, { writes: false, what: '' }, options, body);
}

/** A call that changes something, in one transaction; `what` is for the refusal of a stale owner. */
export async function change<T>(
  context: LocalContext,
  what: string,
  options: CallOptions,
  body: () => T,
): Promise<T> {
  return call(context, { writes: true, what }, options, body);
}

/** Refuses a stale owner before work that is more than a transaction. */
export function admit(context: LocalContext, what: string, options: CallOptions): void {
  options.signal.throwIfAborted();
  context.world.transaction(() =>
    settled(() => checkEpoch(context.world, { writes: true, what }, options.epoch)),
  )();
}

async function call<T>(
  { world }: LocalContext,
  spec: { readonly writes: boolean; readonly what: string },
  { signal, epoch }: CallOptions,
  body: () => T,
): Promise<T> {
  signal.throwIfAborted();
  return world.transaction(() =>
    settled(() => {
      checkEpoch(world, spec, epoch);
      return world.attempt(body);
    }),
  )();
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
