// Random access to a stored disk. Every frame is checked against its hash when it is read; the last few are
// cached, because reads of a file system are close together.
import { type FileHandle, open } from 'node:fs/promises';
import { type OpenByteSource, readFully } from '../../disk/bytes/byte-source.ts';
import type { Extent } from '../../disk/bytes/extent.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode } from '../../host/files/durable-files.ts';
import { decompressFrame } from '../chunks/chunk-jobs.ts';
import {
  bytesOfFrame,
  type DiskMap,
  damagedFrame,
  dataExtents,
  piecesBetween,
  readDiskMap,
} from '../chunks/disk-map.ts';
import { holdVersion, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';

export interface StoredDiskReader extends OpenByteSource {
  readonly digest: Digest;
  /** The parts that hold data, in order; everything else reads as zero. */
  readonly extents: readonly Extent[];
  identify(position: number, length: number): Buffer;
}

const cachedFrames = 12;
/** A frame's hash and three numbers. */
const pieceNameSize = 56;

/** Opens a version for reading. Garbage collection does not take what is open. */
export async function openDisk(store: StoreContext, digest: Digest): Promise<StoredDiskReader> {
  const hold = store.owner.hold();
  try {
    await holdVersion(store, digest, hold);
    const map = await readDiskMap(store, digest);
    return new DiskReader(store, map, () => hold.release());
  } catch (error) {
    hold.release();
    throw error;
  }
}

class DiskReader implements StoredDiskReader {
  readonly digest: Digest;
  readonly size: number;
  readonly extents: readonly Extent[];
  readonly #store: StoreContext;
  readonly #map: DiskMap;
  readonly #onClose: () => void;
  readonly #handles = new Map<number, Promise<FileHandle>>();
  readonly #cache = new Map<string, Promise<Buffer>>();
  #closed = false;

  constructor(store: StoreContext, map: DiskMap, onClose: () => void) {
    this.digest = map.digest;
    this.size = map.size;
    this.extents = dataExtents(map);
    this.#store = store;
    this.#map = map;
    this.#onClose = onClose;
  }

  async read(position: number, target: Buffer): Promise<Buffer> {
    if (this.#closed) throw new ImagoError('internal', 'a stored disk was read after it was closed');
    const end = position + target.length;
    if (position < 0 || end > this.size) {
      throw new ImagoError('internal', `read of ${target.length} bytes at ${position} is off the disk`);
    }
    let filled = position;
    for (const piece of piecesBetween(this.#map, position, end)) {
      target.fill(0, filled - position, piece.offset - position);
      const bytes = await this.#frame(piece.pack, piece.frame);
      bytes.copy(target, piece.offset - position, piece.from, piece.from + piece.length);
      filled = piece.offset + piece.length;
    }
    target.fill(0, filled - position);
    return target;
  }

  /** By the hashes of the stored frames, which every read is checked against. */
  identify(position: number, length: number): Buffer {
    const pieces = [...piecesBetween(this.#map, position, position + length)];
    const name = Buffer.alloc(pieces.length * pieceNameSize);
    for (const [number, { pack, frame, from, length: bytes, offset }] of pieces.entries()) {
      const at = number * pieceNameSize;
      this.#map.packs[pack]?.chunkTable.storedHash(frame).copy(name, at);
      name.writeDoubleLE(offset - position, at + 32);
      name.writeDoubleLE(from, at + 40);
      name.writeDoubleLE(bytes, at + 48);
    }
    return name;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cache.clear();
    for (const opening of this.#handles.values()) {
      const handle = await opening.catch(() => undefined);
      await handle?.close();
    }
    this.#onClose();
  }

  async #frame(pack: number, frame: number): Promise<Buffer> {
    const key = `${pack}.${frame}`;
    const reading = this.#cache.get(key) ?? this.#load(pack, frame);
    this.#cache.delete(key);
    this.#cache.set(key, reading);
    const oldest = this.#cache.keys().next().value;
    if (this.#cache.size > cachedFrames && oldest !== undefined) this.#cache.delete(oldest);
    try {
      return await reading;
    } catch (error) {
      this.#cache.delete(key);
      throw error;
    }
  }

  async #load(number: number, frame: number): Promise<Buffer> {
    const pack = this.#map.packs[number];
    if (pack === undefined) throw new ImagoError('internal', `the disk has no pack ${number}`);
    const opening = this.#handles.get(number) ?? this.#open(pack.digest);
    this.#handles.set(number, opening);
    const stored = Buffer.allocUnsafe(pack.chunkTable.storedLength(frame));
    await readFully(await opening, pack.frameStarts[frame] ?? 0, stored);
    const bytes = decompressFrame(stored, pack.chunkTable.storedHash(frame), bytesOfFrame(pack, frame));
    if (bytes === undefined) throw damagedFrame(pack, frame);
    return bytes;
  }

  async #open(digest: Digest): Promise<FileHandle> {
    try {
      return await open(this.#store.blobs.path(digest), 'r');
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      throw new ImagoError('store-not-found', `the store has no blob ${digest}`, {
        details: { blob: digest },
      });
    }
  }
}
