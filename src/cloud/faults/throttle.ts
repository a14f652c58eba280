// How many calls of a kind the provider answers in three and in thirty minutes, as Azure counts them.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { World } from '../state/state-file.ts';

export interface Ceiling {
  readonly in3Minutes: number;
  readonly in30Minutes: number;
}

/** Of each call, or of all that share one name. Calls without one are not counted. */
export type Ceilings = Readonly<Record<string, { readonly bucket: string } & Ceiling>>;

const reads = { in3Minutes: 2000, in30Minutes: 10_000 };
const lists = { in3Minutes: 1500, in30Minutes: 10_000 };
const versionWrites = { bucket: 'gallery.createVersion', in3Minutes: 375, in30Minutes: 1200 };
const poolWrites = { bucket: 'pools.write', in3Minutes: 375, in30Minutes: 1500 };
const nodeActions = { bucket: 'pools.act', in3Minutes: 1200, in30Minutes: 6000 };
const machineWrites = { bucket: 'machines.write', in3Minutes: 240, in30Minutes: 1200 };
const snapshotWrites = { bucket: 'disks.write', in3Minutes: 1000, in30Minutes: 4000 };

/** The gallery's are from recorded answers of Azure, the others are assumed. */
export const azureCeilings: Ceilings = {
  'galleries.createGallery': { bucket: 'galleries.createGallery', in3Minutes: 50, in30Minutes: 300 },
  'galleries.deleteGallery': { bucket: 'galleries.deleteGallery', in3Minutes: 50, in30Minutes: 300 },
  'galleries.getGallery': { bucket: 'galleries.getGallery', in3Minutes: 350, in30Minutes: 2500 },
  'gallery.createImage': { bucket: 'gallery.createImage', in3Minutes: 150, in30Minutes: 750 },
  'gallery.deleteImage': { bucket: 'gallery.deleteImage', in3Minutes: 50, in30Minutes: 300 },
  'gallery.createVersion': versionWrites,
  'gallery.updateVersion': versionWrites,
  'gallery.deleteVersion': { bucket: 'gallery.deleteVersion', in3Minutes: 150, in30Minutes: 1000 },
  'gallery.getVersion': { bucket: 'gallery.getVersion', ...reads },
  'gallery.listVersions': { bucket: 'gallery.listVersions', ...lists },
  'pools.createPool': poolWrites,
  'pools.setModel': poolWrites,
  'pools.setCapacity': poolWrites,
  'pools.deletePool': poolWrites,
  'pools.stopNode': nodeActions,
  'pools.startNode': nodeActions,
  'pools.reimageNode': nodeActions,
  'pools.upgradeNode': nodeActions,
  'pools.protectNode': nodeActions,
  'pools.deleteNode': nodeActions,
  'pools.getPool': { bucket: 'pools.getPool', ...reads },
  'pools.getNode': { bucket: 'pools.getNode', ...reads },
  'pools.listNodes': { bucket: 'pools.listNodes', ...lists },
  'machines.createMachine': machineWrites,
  'machines.stopMachine': machineWrites,
  'machines.startMachine': machineWrites,
  'machines.deleteMachine': machineWrites,
  'machines.getMachine': { bucket: 'machines.getMachine', ...reads },
  'disks.createSnapshot': snapshotWrites,
  'disks.deleteSnapshot': snapshotWrites,
  'disks.getSnapshot': { bucket: 'disks.getSnapshot', ...reads },
};

const minute = 60_000;

/** Counts the call, inside a transaction; throws `provider-throttled` when it is one too many. */
export function countCall(world: World, ceilings: Ceilings, call: string): void {
  const ceiling = ceilings[call];
  if (ceiling === undefined) return;
  const waits = [
    fill(world, ceiling.bucket, 3 * minute, ceiling.in3Minutes),
    fill(world, ceiling.bucket, 30 * minute, ceiling.in30Minutes),
  ];
  const wait = Math.max(...waits);
  if (wait > 0) throw throttled(call, wait);
}

export function throttled(call: string, retryAfterMs: number): ImagoError {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new ImagoError(
    'provider-throttled',
    `The provider answers no more ${call} calls for ${seconds} s (TooManyRequests).`,
    { details: { retryAfterMs } },
  );
}

/** How long to wait until the bucket is empty again; 0 when there was room. */
function fill(world: World, bucket: string, spanMs: number, ceiling: number): number {
  const now = world.time();
  const row = world.get<{ startedAt: number; used: number }>(
    `INSERT INTO bucket VALUES (?1, ?2, ?3, 1)
     ON CONFLICT (name, spanMs) DO UPDATE SET
       used = iif(startedAt + ?2 <= ?3, 1, used + 1),
       startedAt = iif(startedAt + ?2 <= ?3, ?3, startedAt)
     RETURNING startedAt, used`,
    bucket,
    spanMs,
    now,
  );
  return row === undefined || row.used <= ceiling ? 0 : row.startedAt + spanMs - now;
}
