// Makes a version of chunks that are all in packs: index, config, manifest, and the entry in index.json that
// makes it exist. A disk that is there already, with the same annotations, is answered with the version
// that there is, however its chunks are packed.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ChunkIndex } from '../chunks/chunk-index.ts';
import { compressionLevel } from '../chunks/chunk-jobs.ts';
import { chunkerName } from '../chunks/chunker.ts';
import { encodeDiskIndex, type IndexPack, type RunCollector } from '../chunks/disk-index.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import {
  type Annotations,
  type Descriptor,
  describe,
  encodeJson,
  type Manifest,
  sortedAnnotations,
} from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import type { StoreHold } from '../layout/owner.ts';
import { layoutEntry } from '../layout/referrers.ts';

export interface StoredDisk {
  /** The version's digest: that of its manifest. */
  readonly digest: Digest;
  readonly descriptor: Descriptor;
  /** Size and sha256 of the raw disk. */
  readonly size: number;
  readonly sha256: Digest;
  /** Bytes of every blob of the version together: what a pull by someone who has nothing costs. */
  readonly storedBytes: number;
  /** Bytes that this put added to the store. */
  readonly addedBytes: number;
  /** Whether the store already had this version. */
  readonly existed: boolean;
}

export interface DiskToCommit {
  readonly size: number;
  readonly sha256: Digest;
  readonly chunkIndex: ChunkIndex;
  readonly runs: RunCollector;
  readonly addedBytes: number;
  readonly annotations: Annotations | undefined;
  readonly tag: string | undefined;
}

export async function commitDisk(
  store: StoreContext,
  hold: StoreHold,
  disk: DiskToCommit,
): Promise<StoredDisk> {
  const annotations = sortedAnnotations({
    ...disk.annotations,
    [annotationKeys.diskSha256]: disk.sha256,
    [annotationKeys.diskSize]: String(disk.size),
  });
  const known = await findSame(store, hold, disk.sha256, annotations);
  if (known !== undefined) {
    if (disk.tag !== undefined) await store.index.tag(disk.tag, known.descriptor);
    return result(disk, known.descriptor, known.manifest, disk.addedBytes, true);
  }

  const { packs, index } = indexOf(disk);
  const indexBytes = encodeDiskIndex(index);
  const configBytes = encodeJson({
    size: disk.size,
    sha256: disk.sha256,
    chunker: chunkerName,
    compression: `zstd-${compressionLevel}`,
  });
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    artifactType: mediaTypes.disk,
    config: describe(configBytes, mediaTypes.diskConfig),
    layers: [
      describe(indexBytes, mediaTypes.diskIndex),
      ...packs.map(({ digest, size }) => ({ mediaType: mediaTypes.diskPack, digest, size })),
    ],
    annotations,
  };
  const manifestBytes = encodeJson(manifest);
  const descriptor = layoutEntry(
    describe(manifestBytes, mediaTypes.manifest),
    { kind: 'manifest', manifest },
    true,
  );
  let addedBytes = disk.addedBytes;
  for (const bytes of [configBytes, indexBytes, manifestBytes]) {
    const blob = await store.blobs.put(bytes, hold);
    if (blob.added) addedBytes += blob.size;
  }
  const gone = await firstMissing(store, manifest);
  if (gone !== undefined)
    throw new ImagoError('store-not-found', `pack ${gone.digest} vanished from the store`);
  if (disk.tag === undefined) await store.index.add(descriptor);
  else await store.index.tag(disk.tag, descriptor);
  return result(disk, descriptor, manifest, addedBytes, false);
}

function indexOf(disk: DiskToCommit) {
  const numbers = new Map<number, number>();
  const packs: IndexPack[] = [];
  const runs = disk.runs.runs.map(({ hole, pack, first, count }) => {
    let number = numbers.get(pack);
    if (number === undefined) {
      const stored = disk.chunkIndex.packs[pack]?.stored;
      if (stored === undefined)
        throw new ImagoError('internal', `pack ${pack} of the disk was never written`);
      number = packs.push(stored) - 1;
      numbers.set(pack, number);
    }
    return { hole, pack: number, first, count };
  });
  return { packs, index: { size: disk.size, packs, runs } };
}

async function findSame(
  store: StoreContext,
  hold: StoreHold,
  sha256: Digest,
  annotations: Annotations | undefined,
): Promise<{ descriptor: Descriptor; manifest: Manifest } | undefined> {
  return store.owner.exclusive(async () => {
    for (const descriptor of await store.index.entries()) {
      if (descriptor.annotations?.[annotationKeys.diskSha256] !== sha256) continue;
      const manifest = await readDiskManifest(store, descriptor.digest).catch(() => undefined);
      if (manifest === undefined) continue;
      const same = JSON.stringify(sortedAnnotations(manifest.annotations)) === JSON.stringify(annotations);
      if (!same || (await firstMissing(store, manifest)) !== undefined) continue;
      hold.pin([descriptor.digest, manifest.config.digest, ...manifest.layers.map((layer) => layer.digest)]);
      await store.blobs.touch(descriptor.digest);
      return { descriptor, manifest };
    }
    return undefined;
  });
}

async function firstMissing(store: StoreContext, manifest: Manifest): Promise<Descriptor | undefined> {
  for (const part of [manifest.config, ...manifest.layers]) {
    if ((await store.blobs.size(part.digest)) !== part.size) return part;
  }
  return undefined;
}

function result(
  disk: DiskToCommit,
  descriptor: Descriptor,
  manifest: Manifest,
  addedBytes: number,
  existed: boolean,
): StoredDisk {
  const parts = [manifest.config, ...manifest.layers];
  return {
    digest: descriptor.digest,
    descriptor,
    size: disk.size,
    sha256: disk.sha256,
    storedBytes: descriptor.size + parts.reduce((sum, part) => sum + part.size, 0),
    addedBytes,
    existed,
  };
}
