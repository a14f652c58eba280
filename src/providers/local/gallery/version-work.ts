// Versions of local galleries: a name in the store for a sealed disk, or a snapshot's disk read into the store.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { VersionKey, VersionRow } from '../../../cloud/state/rows.ts';
import { findSnapshot } from '../../../cloud/state/snapshot-rows.ts';
import { copiesOf, findVersion } from '../../../cloud/state/version-rows.ts';
import { dataExtents } from '../../../disk/bytes/raw-extents.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { withWorkFolder } from '../../../host/files/work-folder.ts';
import { describeDisk } from '../../../oci/disks/disk-store.ts';
import { putDisk } from '../../../oci/disks/put-disk.ts';
import { type Digest, parseDigest } from '../../../oci/layout/digest.ts';
import type { VersionSource } from '../../../ports/provider/gallery.ts';
import { flattenDisk } from '../disk/machine-disk.ts';
import { snapshotPath } from '../disk/snapshot-work.ts';
import type { HostContext } from '../state/context.ts';

/** Creates or deletes the version, according to its row. */
export async function workOnVersion(
  context: HostContext,
  key: VersionKey,
  signal: AbortSignal,
): Promise<void> {
  const { world } = context;
  const found = world.transaction(() => {
    const version = findVersion(world, key);
    return version && { version, copies: copiesOf(world, key) };
  });
  if (found === undefined) return;
  const { version, copies } = found;
  if (version.deletedAt !== null) return remove(context, version);
  if (!copies.some(({ readyAt }) => readyAt === null)) return;
  try {
    const digest = await storeContent(context, version, signal);
    const { sha256, size } = await describeDisk(context.store, digest);
    world.transaction(() => {
      world.update('version', key, { digest, diskDigest: sha256, diskBytes: size });
      world.update('regionCopy', key, { readyAt: world.time() });
    });
  } catch (thrown) {
    if (signal.aborted) return;
    const { code: errorCode, message: errorMessage } = ensureImagoError(thrown);
    world.transaction(() =>
      world.update('regionCopy', key, { errorCode, errorMessage, readyAt: world.time() }),
    );
  }
}

async function storeContent(context: HostContext, row: VersionRow, signal: AbortSignal): Promise<Digest> {
  const source = JSON.parse(row.source) as VersionSource;
  if (row.digest !== null) {
    await context.store.tag(versionTag(row), parseDigest(row.digest));
    return parseDigest(row.digest);
  }
  if (source.kind !== 'snapshot') {
    throw new ImagoError('internal', `Version ${row.image}:${row.version} was recorded without its disk.`);
  }
  return storeSnapshot(context, row, source.name, signal);
}

async function storeSnapshot(
  context: HostContext,
  row: VersionRow,
  snapshot: string,
  signal: AbortSignal,
): Promise<Digest> {
  return withSnapshotFile(context, snapshot, signal, async (raw) => {
    const { digest } = await putDisk(context.store, raw, {
      extents: await dataExtents(raw, undefined, signal),
      annotations: { 'vnd.imago.image': row.image },
      tag: versionTag(row),
      signal,
    });
    return digest;
  });
}

/** Calls `work` with a raw file that has the snapshot's disk, and deletes the file afterwards. */
export async function withSnapshotFile<T>(
  context: HostContext,
  snapshot: string,
  signal: AbortSignal,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const { paths, images } = context;
  await mkdir(paths.work, { recursive: true, mode: 0o700 });
  return withWorkFolder(paths.work, async (folder) => {
    const raw = join(folder, 'disk.raw');
    const { disk } = await images.ensure(contentOf(context, snapshot));
    await flattenDisk(snapshotPath(context, snapshot), raw, signal, disk);
    return work(raw);
  });
}

/** The version under the snapshot's disk. */
function contentOf({ world }: HostContext, name: string): string {
  const row = world.transaction(() => findSnapshot(world, name));
  if (row?.digest) return row.digest;
  throw new ImagoError('internal', `Snapshot ${name} was deleted while a version was made from it.`);
}

/** Deletes the version. Its bytes go when the store is next pruned, unless something else needs them. */
async function remove({ world, store }: HostContext, row: VersionRow): Promise<void> {
  await store.index.untag(versionTag(row));
  const gone = 'WHERE gallery = ? AND image = ? AND version = ?';
  world.transaction(() => {
    world.run(`DELETE FROM regionCopy ${gone}`, row.gallery, row.image, row.version);
    world.run(`DELETE FROM version ${gone}`, row.gallery, row.image, row.version);
  });
}

/** The name that keeps the version's disk in the store. */
function versionTag({ gallery, image, version }: VersionKey): string {
  return `${gallery}_${image}_${version}`;
}
