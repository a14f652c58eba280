// What an archive of a component may hold, and how much: the same rules when it is locked and when it is built.

import { decodeHeader, tarBlock } from '../../disk/tar/header.ts';
import { streamInput } from '../../disk/tar/input.ts';
import type { TarReadOptions } from '../../disk/tar/reader.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { unpack } from './unpack.ts';

export const archiveRules = {
  maxEntries: 200_000,
  maxBytes: 32 * 1024 ** 3,
  absolute: 'refuse',
  devices: 'refuse',
  symlinks: 'inside',
} as const satisfies TarReadOptions;

/** What the files of an archive take up. Throws `tar-invalid`, `tar-unsafe` or `tar-limit`. */
export async function measureArchive(
  content: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<number> {
  let bytes = 0;
  const input = streamInput(unpack(content, signal));
  try {
    for await (const { entry } of readTar(input, archiveRules)) bytes += entry.size;
  } finally {
    await input.close();
  }
  return bytes;
}

/** Whether the content begins as a tar archive does, compressed or not. Reads no more than that. */
export async function isArchive(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  try {
    const block = await firstBlock(unpack(content));
    if (block === undefined) return false;
    if (block.every((byte) => byte === 0)) return true;
    decodeHeader(block);
    return true;
  } catch (error) {
    if (ensureImagoError(error).code !== 'tar-invalid') throw error;
    return false;
  }
}

async function firstBlock(content: AsyncIterable<Uint8Array>): Promise<Buffer | undefined> {
  let bytes = Buffer.alloc(0);
  for await (const piece of content) {
    bytes = Buffer.concat([bytes, piece]);
    if (bytes.length >= tarBlock) return bytes.subarray(0, tarBlock);
  }
  return undefined;
}
