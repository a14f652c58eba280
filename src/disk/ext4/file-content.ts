// The bytes of a file: its runs of blocks, zeros for its holes, or what is kept inside of the inode.
import { hash } from 'node:crypto';
import type { ByteSource } from '../bytes/byte-source.ts';
import type { Extent } from '../bytes/extent.ts';
import { numberBytes, readRange, zerosOf } from '../tree/file-tree.ts';
import { readAttributes } from './attributes.ts';
import { readRuns } from './extent-tree.ts';
import type { Inode } from './inode.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

/** In pieces of at most 1 MiB, `inode.size` bytes in all. A piece may be read until the next one is asked for. */
export async function* readContent(
  source: ByteSource,
  shape: Superblock,
  inode: Inode,
): AsyncGenerator<Buffer> {
  if (inode.isInline) {
    yield await readInline(source, shape, inode);
    return;
  }
  let at = 0;
  for await (const run of readRuns(source, shape, inode)) {
    const start = Math.min(run.logical * shape.blockSize, inode.size);
    const end = Math.min((run.logical + run.blocks) * shape.blockSize, inode.size);
    yield* zerosOf(start - at);
    if (run.isUnwritten) yield* zerosOf(end - start);
    else yield* readRange(source, run.physical * shape.blockSize, end - start);
    at = end;
  }
  yield* zerosOf(inode.size - at);
}

/** Where the content lies on the file system, in the order of the file. Holes and what is inline are left out. */
export async function* contentExtents(
  source: ByteSource,
  shape: Superblock,
  inode: Inode,
): AsyncGenerator<Extent> {
  if (inode.isInline) return;
  for await (const run of readRuns(source, shape, inode)) {
    if (!run.isUnwritten) {
      yield { offset: run.physical * shape.blockSize, length: run.blocks * shape.blockSize };
    }
  }
}

/** See `Ext4Reader.identify`: the size, and for each run of blocks its position in the file and the name of its bytes. */
export async function contentName(
  source: ByteSource,
  shape: Superblock,
  inode: Inode,
): Promise<string | undefined> {
  if (source.identify === undefined || inode.isInline) return undefined;
  const parts: Buffer[] = [numberBytes(inode.size)];
  for await (const run of readRuns(source, shape, inode)) {
    const start = run.logical * shape.blockSize;
    const length = Math.min(run.blocks * shape.blockSize, inode.size - start);
    if (run.isUnwritten || length <= 0) continue;
    const name = source.identify(run.physical * shape.blockSize, length);
    parts.push(numberBytes(start, length, name.length), name);
  }
  return hash('sha256', Buffer.concat(parts));
}

/** What is inside of the inode; at most `inode.size` bytes, and exactly as many for a file. */
export async function readInline(source: ByteSource, shape: Superblock, inode: Inode): Promise<Buffer> {
  const more = (await readAttributes(source, shape, inode)).get('system.data') ?? Buffer.alloc(0);
  const bytes = Buffer.concat([inode.content, more]);
  if (inode.size > bytes.length) throw ext4Invalid(`the content of inode ${inode.number} is truncated`);
  return bytes.subarray(0, inode.size);
}
