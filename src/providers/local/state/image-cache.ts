// The disks that machines start from: one read-only file for each version in use, taken out of the store once,
// with the kernel that it would start with beside it.
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readBootParts } from '../../../disk/boot/boot-parts.ts';
import { openFileSource } from '../../../disk/bytes/byte-source.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { withWorkFolder } from '../../../host/files/work-folder.ts';
import type { DiskStore } from '../../../oci/disks/disk-store.ts';
import { extractDisk } from '../../../oci/disks/extract-disk.ts';
import { type Digest, parseDigest } from '../../../oci/layout/digest.ts';

export interface CachedImage {
  readonly digest: string;
  /** A read-only raw disk. */
  readonly disk: string;
  readonly sizeBytes: number;
  /** Absent when the disk has no kernel that can be started without firmware. */
  readonly direct?: { readonly kernel: string; readonly initrd: string; readonly cmdline: string };
}

export interface CachedImageUse {
  readonly digest: string;
  /** On the disk, without the holes. */
  readonly bytes: number;
  readonly lastUsedAt: number;
}

export interface ImageCacheLimits {
  /** Of those that nothing uses. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export interface ImageCache {
  /**
   * The version's disk, taken out of the store unless it is there. Two calls at a time share the work. Throws
   * what the store throws: `store-not-found`, `store-corrupt`, `no-space`.
   */
  ensure(digest: string): Promise<CachedImage>;
  /** All that there are, the one used last first. */
  list(): Promise<readonly CachedImageUse[]>;
  /** Deletes unused images that exceed a limit, and returns them. */
  prune(inUse: ReadonlySet<string>): Promise<readonly CachedImageUse[]>;
}

export const defaultImageLimits: ImageCacheLimits = {
  maxBytes: 8 * 1024 ** 3,
  maxAgeMs: 24 * 60 * 60_000,
};

interface ImageNote {
  readonly sizeBytes: number;
  readonly cmdline?: string;
}

const blockBytes = 512;

export function createImageCache(
  root: string,
  store: DiskStore,
  limits: ImageCacheLimits,
  now: () => number,
): ImageCache {
  const making = new Map<string, Promise<CachedImage>>();
  const folderOf = (digest: string) => join(root, parseDigest(digest).replace(':', '-'));

  async function take(digest: string): Promise<CachedImage> {
    const folder = folderOf(digest);
    const note = (await readNote(folder)) ?? (await makeImage(store, root, folder, parseDigest(digest)));
    await utimes(folder, now() / 1000, now() / 1000);
    return {
      digest,
      disk: join(folder, 'disk.raw'),
      sizeBytes: note.sizeBytes,
      ...(note.cmdline === undefined
        ? {}
        : {
            direct: {
              kernel: join(folder, 'kernel'),
              initrd: join(folder, 'initrd'),
              cmdline: note.cmdline,
            },
          }),
    };
  }

  return {
    ensure(digest) {
      const known = making.get(digest);
      if (known !== undefined) return known;
      const taking = take(digest).finally(() => making.delete(digest));
      making.set(digest, taking);
      return taking;
    },
    list: () => listImages(root),
    async prune(inUse) {
      const gone: CachedImageUse[] = [];
      let kept = 0;
      for (const image of await listImages(root)) {
        if (inUse.has(image.digest) || making.has(image.digest)) continue;
        const stays = kept + image.bytes <= limits.maxBytes && now() - image.lastUsedAt <= limits.maxAgeMs;
        if (stays) {
          kept += image.bytes;
          continue;
        }
        await rm(folderOf(image.digest), { recursive: true, force: true });
        gone.push(image);
      }
      return gone;
    },
  };
}

/** All in that folder, the one used last first. */
export async function listImages(root: string): Promise<readonly CachedImageUse[]> {
  const names = await readdir(root).catch(() => []);
  const found = names.filter((name) => name.startsWith('sha256-')).map((name) => useOf(root, name));
  return (await Promise.all(found)).sort((a, b) => b.lastUsedAt - a.lastUsedAt);
}

/** The folder appears under its name when everything in it is whole and on the disk. */
async function makeImage(store: DiskStore, root: string, folder: string, digest: Digest): Promise<ImageNote> {
  await mkdir(root, { recursive: true });
  return withWorkFolder(root, async (work) => {
    const half = join(work, 'image');
    await mkdir(half);
    const disk = join(half, 'disk.raw');
    const { size } = await extractDisk(store, digest, disk);
    const parts = await bootPartsOf(disk);
    if (parts !== undefined) {
      await writeDurably(join(half, 'kernel'), parts.kernel);
      await writeDurably(join(half, 'initrd'), parts.initrd);
    }
    const note = { sizeBytes: size, ...(parts === undefined ? {} : { cmdline: parts.cmdline }) };
    await writeDurably(join(half, 'image.json'), Buffer.from(JSON.stringify(note)));
    await chmod(disk, 0o444);
    if ((await readNote(folder)) !== undefined) return note;
    await rm(folder, { recursive: true, force: true });
    await rename(half, folder);
    return note;
  });
}

/** A disk without our kind of partitions is started by its firmware, which will tell what is wrong with it. */
async function bootPartsOf(disk: string) {
  const source = await openFileSource(disk);
  try {
    return await readBootParts(source);
  } catch (error) {
    if (error instanceof ImagoError && error.kind !== 'bug') return undefined;
    throw error;
  } finally {
    await source.close();
  }
}

async function readNote(folder: string): Promise<ImageNote | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'image.json'), 'utf8')) as ImageNote;
  } catch {
    return undefined;
  }
}

async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  await writeFile(path, bytes);
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function useOf(root: string, name: string): Promise<CachedImageUse> {
  const folder = join(root, name);
  let bytes = 0;
  for (const file of await readdir(folder).catch(() => [])) {
    bytes += (await stat(join(folder, file)).catch(() => ({ blocks: 0 }))).blocks * blockBytes;
  }
  const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: 0 }));
  return { digest: name.replace('-', ':'), bytes, lastUsedAt: mtimeMs };
}
