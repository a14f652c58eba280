// What an archive of a component may hold, and how much: the same rules when it is locked and when it is built.

import { streamInput } from '../../images/tar-input.ts';
import type { TarReadOptions } from '../../images/tar-reader.ts';
import { readTar } from '../../images/tar-reader.ts';
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
