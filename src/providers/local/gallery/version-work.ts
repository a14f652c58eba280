// Versions of local galleries: a name in the store for a disk that is there, or a snapshot's disk read into it.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { dataExtents } from '../../../disk/bytes/raw-extents.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { withWorkFolder } from '../../../host/files/work-folder.ts';
import { type Digest, parseDigest } from '../../../oci/layout/digest.ts';
import type { VersionSource } from '../../../ports/provider/gallery.ts';
import { flattenDisk } from '../disk/machine-disk.ts';
import { snapshotPath } from '../disk/snapshot-work.ts';
import type { LocalContext, VersionKey } from '../state/context.ts';
import { findSnapshot } from '../state/snapshot-rows.ts';
import { findVersion, type VersionRow, versionTag } from '../state/version-rows.ts';

/** Makes, or takes away, the version as its row says. */
export async function workOnVersion(
  context: LocalContext,
  key: VersionKey,
  signal: AbortSignal,
): Promise<void> {
  const { world } = context;
  const row = world.transaction(() => findVersion(world, key));
  if (row === undefined) return;
  if (row.deleting === 1) return remove(context, row);
  if (row.made === 1 || row.errorCode !== null) return;
  try {
    const digest = await storeContent(context, row, signal);
    const { sha256, size } = await context.store.inspect(digest);
    finish(context, key, { digest, diskDigest: sha256, diskBytes: size, made: 1 });
  } catch (thrown) {
    if (signal.aborted) return;
    const { code, message } = ensureImagoError(thrown);
    finish(context, key, { errorCode: code, errorMessage: message });
  }
}

async function storeContent(context: LocalContext, row: VersionRow, signal: AbortSignal): Promise<Digest> {
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
  context: LocalContext,
  row: VersionRow,
  snapshot: string,
  signal: AbortSignal,
): Promise<Digest> {
  const { paths, store, images } = context;
  await mkdir(paths.work, { recursive: true, mode: 0o700 });
  return withWorkFolder(paths.work, async (folder) => {
    const raw = join(folder, 'disk.raw');
    const { disk } = await images.ensure(contentOf(context, snapshot));
    await flattenDisk(snapshotPath(context, snapshot), raw, signal, disk);
    const { digest } = await store.put(raw, {
      extents: await dataExtents(raw, undefined, signal),
      annotations: { 'vnd.imago.image': row.image },
      tag: versionTag(row),
      signal,
    });
    return digest;
  });
}

/** The version under the snapshot's disk. */
function contentOf({ world }: LocalContext, name: string): string {
  const row = world.transaction(() => findSnapshot(world, name));
  if (row !== undefined) return row.content;
  throw new ImagoError('internal', `Snapshot ${name} was deleted while a version was made from it.`);
}

function finish({ world }: LocalContext, key: VersionKey, columns: Partial<VersionRow>): void {
  const names = Object.keys(columns);
  const values = Object.values(columns) as (string | number)[];
  world.transaction(() =>
    world.run(
      `UPDATE version SET ${names.map((name) => `${name} = ?`).join(', ')}
       WHERE gallery = ? AND image = ? AND version = ?`,
      ...values,
      key.gallery,
      key.image,
      key.version,
    ),
  );
}

/** Its bytes go when the store is next tidied, unless something else needs them. */
async function remove({ world, store }: LocalContext, row: VersionRow): Promise<void> {
  await store.untag(versionTag(row));
  world.transaction(() =>
    world.run(
      'DELETE FROM version WHERE gallery = ? AND image = ? AND version = ? AND deleting = 1',
      row.gallery,
      row.image,
      row.version,
    ),
  );
}
