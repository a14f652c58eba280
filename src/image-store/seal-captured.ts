// Turns the copy of a node's disk into a version of the store: cleaned by the checklist, scanned, and stored only if the
// scan found nothing.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { openFileSource } from '../disk/bytes/byte-source.ts';
import { dataExtents } from '../disk/bytes/raw-extents.ts';
import { cleanDisk } from '../disk/clean/clean-disk.ts';
import { findMounted, type PathFinders } from '../disk/clean/disk-checklist.ts';
import { type MountedPart, openMounted, readParts } from '../disk/clean/parts.ts';
import { requireSafe, type ScanReport, scanDisk } from '../disk/clean/scan-disk.ts';
import { endAtTable } from '../disk/gpt/end-of-table.ts';
import { checklist } from '../domain/capture/checklist.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { findWritableLayers } from '../inventory/linux/writable-layers.ts';
import { requireSealedWindows } from '../inventory/windows/require-sealed.ts';
import { openWindows } from '../inventory/windows/system.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { openDisk } from '../oci/disks/open-disk.ts';
import { putDisk } from '../oci/disks/put-disk.ts';
import { parseDigest } from '../oci/layout/digest.ts';
import type { CapturedFile, Watch } from '../ports/image-store/image-store.ts';
import type { CapturedDisk } from '../ports/provider/disks.ts';
import type { VersionsContext } from './context.ts';

const finders: PathFinders = { 'writable-container-layers': findWritableLayers };

export async function sealCaptured(
  context: Pick<VersionsContext, 'store' | 'workFolder'>,
  { path, image, parent, lock }: CapturedFile,
  watch: Watch,
): Promise<CapturedDisk> {
  const store = await context.store();
  const { signal } = watch;
  const put = async (files: number, cleaned: number): Promise<CapturedDisk> => {
    watch.progress(2, 3, 'storing the copy');
    const stored = await putDisk(store, path, {
      ...{ extents: await dataExtents(path, undefined, signal), basis: [parseDigest(parent)], signal },
      annotations: { 'vnd.imago.image': image, 'vnd.imago.parent': parent },
    });
    return { digest: stored.digest, diskDigest: stored.sha256, sizeBytes: stored.size, files, cleaned };
  };
  if (lock !== undefined) return put(await judgeWindows(path, lock, watch), 0);
  await endAtTable(path);
  watch.progress(0, 3, 'cleaning the copy');
  const workFolder = join(context.workFolder, 'disks');
  const cleaned = await cleanDisk(path, { items: checklist, finders, workFolder, signal });
  watch.progress(1, 3, 'scanning the copy');
  const report = await scan(store, path, parent, signal);
  requireSafe(report);
  return put(report.files, cleaned.removed.length + cleaned.rewritten.length);
}

/** Windows cleans itself while it is generalized; its disk is only read. Returns the number of its files. */
export async function judgeWindows(path: string, lock: Lock, watch: Watch): Promise<number> {
  watch.progress(1, 3, 'reading the disk');
  const disk = await openFileSource(path);
  try {
    const system = await openWindows(disk, { signal: watch.signal });
    if (system !== undefined) return await requireSealedWindows(disk, system, lock, watch.signal);
    throw new ImagoError('build-failed', 'The disk of the machine has no Windows that can be read.');
  } finally {
    await disk.close();
  }
}

/** A file that the parent has at the same path with the same content is not a secret of the node. */
async function scan(
  store: DiskStore,
  path: string,
  parent: string,
  signal: AbortSignal,
): Promise<ScanReport> {
  const disk = await openFileSource(path);
  const before = await openDisk(store, parseDigest(parent));
  try {
    const mounted = await openMounted(before, await readParts(before));
    const isKnown = async (file: string, sha256: string) => (await hashAt(mounted, file)) === sha256;
    return await scanDisk(disk, { items: checklist, finders, isKnown, signal });
  } finally {
    await before.close();
    await disk.close();
  }
}

async function hashAt(mounted: readonly MountedPart[], path: string): Promise<string | undefined> {
  const found = await findMounted(mounted, path);
  if (found?.entry.type !== 'file') return undefined;
  const hash = createHash('sha256');
  for await (const piece of found.part.reader.stream(found.entry)) hash.update(piece);
  return hash.digest('hex');
}
