// Puts a finished disk into the store, and remembers which lock it came from.
import { dataExtents } from '../disk/bytes/raw-extents.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { findTool } from '../host/tools/tools.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { putDisk } from '../oci/disks/put-disk.ts';
import { type Digest, isDigest } from '../oci/layout/digest.ts';
import type { SealedDisk } from '../ports/provider/builder.ts';
import type { BuiltImage } from './build-image.ts';
import type { BuildContext } from './builder-context.ts';
import { readRecord, recordPath, writeRecord } from './content/records.ts';
import type { StepReport } from './step-report.ts';

export interface SealRequest {
  readonly lock: Lock;
  readonly lockDigest: string;
  readonly image: BuiltImage;
  readonly signal?: AbortSignal | undefined;
  readonly report: StepReport;
}

interface SealedRecord extends SealedDisk {
  readonly lockDigest: string;
}

/** The same lock gives the same digest: the manifest contains nothing of the moment. */
export async function sealDisk(context: BuildContext, request: SealRequest): Promise<SealedDisk> {
  const { lock, lockDigest, image, signal, report } = request;
  report.begin('seal');
  const store = requireStore(context);
  const canMap = (await findTool('qemu-img')) !== undefined;
  const extents = canMap ? await dataExtents(image.path, image.sizeBytes, signal) : undefined;
  const hold = store.owner.hold();
  try {
    const stored = await putDisk(store, image.path, {
      ...{ extents, hold, signal },
      annotations: { 'vnd.imago.image': lock.recipe.name, 'vnd.imago.lock': lockDigest },
      onProgress: ({ position, size }) => report.bytes('seal', position, size),
    });
    report.end('seal');
    const sealed = {
      ...{ digest: stored.digest, diskDigest: stored.sha256, sizeBytes: stored.size },
      timings: report.timings(),
    };
    await recordSealed(context, lockDigest, sealed);
    return sealed;
  } finally {
    hold.release();
  }
}

export async function recordSealed(
  context: BuildContext,
  lockDigest: string,
  sealed: SealedDisk,
): Promise<void> {
  const record: SealedRecord = { ...sealed, lockDigest };
  await writeRecord(context.cacheFolder, pathOf(context, lockDigest), JSON.stringify(record));
}

/** What was sealed from a lock, if the store still has it. */
export async function findSealed(context: BuildContext, lockDigest: string): Promise<SealedDisk | undefined> {
  if (!isDigest(lockDigest)) return undefined;
  const record = await readRecord<SealedRecord>(pathOf(context, lockDigest));
  if (record?.lockDigest !== lockDigest) return undefined;
  const found = await requireStore(context)
    .readBlob(record.digest as Digest)
    .catch(() => undefined);
  if (found === undefined) return undefined;
  const { lockDigest: _, ...sealed } = record as SealedRecord;
  return sealed;
}

function requireStore({ store }: BuildContext): DiskStore {
  if (store === undefined) throw new ImagoError('internal', 'this builder has no store to seal disks in');
  return store;
}

function pathOf({ cacheFolder }: BuildContext, lockDigest: string): string {
  return recordPath(cacheFolder, 'sealed', `${lockDigest.replace(':', '-')}.json`);
}
