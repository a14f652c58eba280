// Runs the cloud on this host: disks in the store, machines in QEMU. Work ends when it has ended, and is written then.
import { statfs } from 'node:fs/promises';
import type { CapturedDisk, Executor } from '../../cloud/state/cloud.ts';
import { busy, notFound } from '../../cloud/state/refusals.ts';
import type { VersionRow } from '../../cloud/state/rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { verifyDisk } from '../../oci/disks/verify-disk.ts';
import { parseDigest } from '../../oci/layout/digest.ts';
import type { GalleryLimit } from '../../ports/provider/gallery.ts';
import { findStoredDisk } from './disk/stored-disk.ts';
import type { LocalWork } from './state/context.ts';
import { machineById } from './state/machine-rows.ts';

export function createHostExecutor(
  { world, store, homeRegion }: { world: World; store: DiskStore; homeRegion: string },
  work: LocalWork,
): Executor {
  return {
    endOf: () => null,
    findDisk: (diskDigest) => findStoredDisk(store, diskDigest),
    workOnVersion: (key) => work.version(key),
    readDigest: (row, signal) => readDigest(store, row, signal),
    galleryLimits: () => bytesLimit(store),
    captureDisk: (disk) => captureDisk(world, homeRegion, disk),
    workOnSnapshot: ({ name, machineId, deletedAt }) =>
      deletedAt === null ? work.machine(machineId) : work.snapshot(name),
  };
}

async function readDigest(store: DiskStore, row: VersionRow, signal: AbortSignal): Promise<string> {
  const name = `${row.image}:${row.version}`;
  if (row.digest === null || row.diskDigest === null) {
    throw notFound(`Gallery ${row.gallery} has no complete version ${name}.`);
  }
  const { damages } = await verifyDisk(store, parseDigest(row.digest), { signal });
  const [damage] = damages;
  if (damage === undefined) return row.diskDigest;
  throw new ImagoError('store-corrupt', `The disk of ${name} is damaged: ${damage.message}`);
}

/** Only the disk limits a local gallery. */
async function bytesLimit(store: DiskStore): Promise<readonly GalleryLimit[]> {
  const blobs = await store.blobs.list();
  const used = blobs.reduce((sum, blob) => sum + blob.size, 0);
  const { bavail, bsize } = await statfs(store.root);
  return [{ name: 'bytes', used, limit: used + bavail * bsize }];
}

/** The content of the copy is known when it has been made; only the version under it is known before. */
function captureDisk(world: World, region: string, disk: string): CapturedDisk | undefined {
  const machine = machineById(world, /^disk\/(.+)$/.exec(disk)?.[1] ?? '');
  if (machine === undefined || machine.deleting === 1 || machine.disk === 0 || machine.content === null) {
    return undefined;
  }
  if (machine.nextContent !== null) throw busy(`The machine of disk ${disk} is getting another disk.`);
  const { machineId, content: digest } = machine;
  return { machineId, region, digest, diskDigest: null, diskBytes: 0, traits: '{}' };
}
