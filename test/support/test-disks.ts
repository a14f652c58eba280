// Disks for tests: made of a seed, sparse, with repeated, compressible and random parts.

import { createCipheriv, createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compressFrame } from '../../src/oci/chunks/chunk-jobs.ts';
import { blockSize, chunkHash } from '../../src/oci/chunks/chunker.ts';
import { encodeDiskIndex } from '../../src/oci/chunks/disk-index.ts';
import { PackTable, packTrailer } from '../../src/oci/chunks/pack-format.ts';
import { type DiskStore, type OpenStoreOptions, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import type { BlobSource } from '../../src/oci/disks/repair-disk.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import { describe, encodeJson } from '../../src/oci/layout/manifest.ts';
import { mediaTypes } from '../../src/oci/layout/media-types.ts';

/** Bytes that look random and depend only on the seed. */
export function noise(seed: string, length: number): Buffer {
  const key = createHash('sha256').update(seed).digest();
  const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16));
  return cipher.update(Buffer.alloc(length));
}

/** Text that compresses well, and differs from seed to seed. */
function text(seed: string, length: number): Buffer {
  const lines: string[] = [];
  let size = 0;
  for (let number = 0; size < length; number += 1) {
    const line = `${seed}: ${Math.imul(number + 1, 0x9e3779b1) >>> 0} is the value of line ${number}\n`;
    lines.push(line);
    size += line.length;
  }
  return Buffer.from(lines.join('')).subarray(0, length);
}

export interface DiskPart {
  readonly kind: 'noise' | 'text' | 'zero';
  readonly seed: number;
  /** Blocks of 4 KiB. */
  readonly blocks: number;
}

/** Parts one after the other, each as a file would lie: from a block boundary, its last block filled with zeros. */
export function diskOf(parts: readonly DiskPart[], tail = 0): Buffer {
  const buffers = parts.map(({ kind, seed, blocks }) => {
    const bytes = Buffer.alloc(blocks * blockSize);
    const length = Math.max(0, bytes.length - (seed % 1000));
    if (kind === 'noise') noise(String(seed), length).copy(bytes);
    if (kind === 'text') text(String(seed), length).copy(bytes);
    return bytes;
  });
  return Buffer.concat([...buffers, noise('tail', tail)]);
}

export interface TestStore extends AsyncDisposable {
  readonly folder: string;
  readonly store: DiskStore;
  /** Writes a disk into the test's folder and returns its path. */
  disk(name: string, bytes: Uint8Array): Promise<string>;
}

/** Where flushing costs nothing. */
const memory = '/dev/shm';

/** A store in a folder of its own, both gone at the end. */
export async function testStore(options: OpenStoreOptions = {}): Promise<TestStore> {
  const folder = await mkdtemp(join(existsSync(memory) ? memory : tmpdir(), 'imago-store-'));
  const store = await openDiskStore(join(folder, 'store'), options);
  return {
    folder,
    store,
    async disk(name, bytes) {
      const path = join(folder, name);
      await writeFile(path, bytes);
      return path;
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Lists a version in a store whose pack says that it holds `claimed`, while it holds `actual`: as someone might
 * who wants others to build upon it. All its digests are right.
 */
export async function forgeVersion(store: DiskStore, claimed: Buffer, actual: Buffer): Promise<Digest> {
  const { blobs, index, owner } = store;
  const hold = owner.hold();
  const table = new PackTable();
  table.add(chunkHash(claimed), claimed.length);
  const frame = compressFrame(actual);
  table.setFrame(0, chunkHash(frame), frame.length);
  const pack = await blobs.put(Buffer.concat([frame, table.bytes, packTrailer(table)]), hold);
  const packs = [{ ...pack, chunks: 1, frames: 1, table: chunkHash(table.bytes).toString('hex') }];
  const diskIndex = encodeDiskIndex({
    size: claimed.length,
    packs,
    runs: [{ hole: 0, pack: 0, first: 0, count: 1 }],
  });
  const config = encodeJson({});
  const manifest = encodeJson({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    artifactType: mediaTypes.disk,
    config: describe(config, mediaTypes.diskConfig),
    layers: [
      describe(diskIndex, mediaTypes.diskIndex),
      { mediaType: mediaTypes.diskPack, digest: pack.digest, size: pack.size },
    ],
  });
  for (const bytes of [diskIndex, config, manifest]) await blobs.put(bytes, hold);
  await index.tag('forged', describe(manifest, mediaTypes.manifest));
  hold.release();
  return describe(manifest, mediaTypes.manifest).digest;
}

/** Reads the blobs of another store. */
export function storeSource(store: DiskStore): BlobSource {
  return {
    name: store.paths.root,
    async read(digest) {
      if ((await store.blobs.size(digest)) === undefined) return undefined;
      return createReadStream(store.blobs.path(digest));
    },
  };
}
