// The writable layers of containers on a disk: what containers wrote, next to the layers of the images. Only the
// database of containerd's snapshotter tells the two apart.
import type { Ext4Reader } from '../../disk/ext4/reader.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type BoltBucket, openBolt } from './bolt-reader.ts';

const snapshotter = '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs';
const maxDatabase = 256 * 1024 * 1024;
const activeKind = 2;

/** Their directories, for a cleaner to remove. A disk without containerd's database has none. */
export async function findWritableLayers(
  root: Pick<Ext4Reader, 'find' | 'read'>,
): Promise<readonly string[]> {
  const database = await root.find(`${snapshotter}/metadata.db`);
  if (database === undefined || database.type !== 'file') return [];
  const snapshots = openBolt(await root.read(database, maxDatabase))
    .bucket('v1')
    ?.bucket('snapshots');
  const paths: string[] = [];
  for (const { bucket } of snapshots?.items() ?? []) {
    if (bucket?.value('kind')?.[0] !== activeKind) continue;
    const folder = `${snapshotter}/snapshots/${snapshotId(bucket)}`;
    paths.push(`${folder}/fs`, `${folder}/work`);
  }
  return paths.sort();
}

/** A number as Go's `binary.PutUvarint` writes it. */
function snapshotId(snapshot: BoltBucket): number {
  let [id, factor] = [0, 1];
  for (const byte of snapshot.value('id') ?? []) {
    id += (byte & 0x7f) * factor;
    if (byte < 0x80 && Number.isSafeInteger(id)) return id;
    factor *= 128;
  }
  throw new ImagoError('inventory-invalid', "a snapshot in containerd's database has no ID");
}
