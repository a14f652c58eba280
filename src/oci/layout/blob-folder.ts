// The blobs of a store: content under the name of its own digest. A blob appears complete or not at all (written to a
// temporary file, flushed, renamed), and is pinned in the same change, so that garbage collection never deletes one
// that is about to be referred to.
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { fileSize, nameFileError, renameDurably, systemCode } from '../../host/files/durable-files.ts';
import { type Digest, digestOf, hashFile, isDigest, shortDigest } from './digest.ts';
import type { Descriptor } from './manifest.ts';
import type { StoreHold, StoreOwner } from './owner.ts';
import { blobPath, type StorePaths } from './paths.ts';

export interface CommittedBlob {
  readonly digest: Digest;
  readonly size: number;
  /** False when the store had it already. */
  readonly added: boolean;
}

export interface BlobWriter {
  readonly size: number;
  write(bytes: Uint8Array): Promise<void>;
  /** Flushes and publishes the blob under its digest. With `expected`, other content is `store-corrupt`. */
  commit(expected?: Digest): Promise<CommittedBlob>;
  /** Removes what was written. Does nothing after a commit. */
  abandon(): Promise<void>;
}

export interface BlobListing {
  readonly digest: Digest;
  readonly size: number;
  readonly mtimeMs: number;
}

export class BlobFolder {
  readonly paths: StorePaths;
  readonly #owner: StoreOwner;

  constructor(paths: StorePaths, owner: StoreOwner) {
    this.paths = paths;
    this.#owner = owner;
  }

  path(digest: Digest): string {
    return blobPath(this.paths, digest);
  }

  /** The size of the blob's file, or `undefined` when the store has no such blob. Its content is not checked. */
  async size(digest: Digest): Promise<number | undefined> {
    return fileSize(this.path(digest));
  }

  /** Reads a small blob whole and checks it. `store-not-found` when absent, `store-corrupt` when damaged. */
  async read(digest: Digest, limit: number): Promise<Buffer> {
    const size = await this.size(digest);
    if (size === undefined) {
      throw new ImagoError('store-not-found', `the store has no blob ${digest}`, {
        details: { blob: digest },
      });
    }
    if (size > limit) throw corrupt(digest, `it has ${size} bytes where at most ${limit} are expected`);
    const bytes = await readFile(this.path(digest));
    if (digestOf(bytes) !== digest) throw corrupt(digest, 'its content has another digest');
    return bytes;
  }

  async readDescribed(descriptor: Descriptor, limit: number): Promise<Buffer> {
    const bytes = await this.read(descriptor.digest, limit);
    if (bytes.length === descriptor.size) return bytes;
    throw corrupt(descriptor.digest, `it has ${bytes.length} bytes, not ${descriptor.size}`);
  }

  async put(bytes: Uint8Array, hold: StoreHold): Promise<CommittedBlob> {
    const writer = await this.writer(hold);
    try {
      await writer.write(bytes);
      return await writer.commit();
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }

  async writer(hold: StoreHold): Promise<BlobWriter> {
    const temporary = this.#owner.temporaryPath();
    const handle = await open(temporary, 'wx').catch((error: unknown) => {
      throw nameFileError(error, 'writing to the store');
    });
    return openWriter(handle, temporary, (digest, size) => this.adopt(temporary, digest, size, hold));
  }

  /**
   * Publishes a flushed file of the store's file system as the blob that it is known to be; the file is
   * gone afterwards. A blob that exists already and is whole is kept, and counts as young again; a
   * damaged one is replaced.
   */
  async adopt(path: string, digest: Digest, size: number, hold: StoreHold): Promise<CommittedBlob> {
    const target = this.path(digest);
    const intact = (await hashFile(target)) === digest;
    return this.#owner.exclusive(async () => {
      hold.pin([digest]);
      if (intact && (await fileSize(target)) === size) {
        await this.touch(digest);
        await rm(path, { force: true });
        return { digest, size, added: false };
      }
      await renameDurably(path, target);
      return { digest, size, added: true };
    });
  }

  /** Makes a blob count as young, so that garbage collection's grace period restarts. */
  async touch(digest: Digest): Promise<void> {
    const now = new Date();
    await utimes(this.path(digest), now, now);
  }

  /** Every blob there is. Files that are no blobs (left by other tools) are not listed. */
  async list(): Promise<BlobListing[]> {
    const result: BlobListing[] = [];
    for (const name of await readdir(this.paths.blobs)) {
      const digest = `sha256:${name}`;
      if (!isDigest(digest)) continue;
      try {
        const { size, mtimeMs } = await stat(join(this.paths.blobs, name));
        result.push({ digest, size, mtimeMs });
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error;
      }
    }
    return result;
  }
}

function openWriter(
  handle: FileHandle,
  temporary: string,
  publish: (digest: Digest, size: number) => Promise<CommittedBlob>,
): BlobWriter {
  const hash = createHash('sha256');
  let size = 0;
  let open = true;

  async function abandon(): Promise<void> {
    if (!open) return;
    open = false;
    await handle.close();
    await rm(temporary, { force: true });
  }

  return {
    get size() {
      return size;
    },
    async write(bytes) {
      try {
        await handle.writeFile(bytes);
      } catch (error) {
        throw nameFileError(error, 'writing to the store');
      }
      hash.update(bytes);
      size += bytes.length;
    },
    async commit(expected) {
      const digest: Digest = `sha256:${hash.digest('hex')}`;
      try {
        if (expected !== undefined && digest !== expected) {
          throw corrupt(expected, `what was written has the digest ${shortDigest(digest)}`);
        }
        await handle.sync();
        await handle.close();
        open = false;
        return await publish(digest, size);
      } catch (error) {
        await abandon();
        await rm(temporary, { force: true });
        throw nameFileError(error, 'writing to the store');
      }
    },
    abandon,
  };
}

export function corrupt(digest: Digest, why: string): ImagoError {
  return new ImagoError('store-corrupt', `blob ${digest} is damaged: ${why}`, { details: { blob: digest } });
}
