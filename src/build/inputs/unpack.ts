// Decompresses archives: gzip, xz, and zstd are recognized by their first bytes.
import { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { streamTool } from '../../host/process/run-tool.ts';
import { requireTool } from '../../host/tools/tools.ts';

export type Compression = 'none' | 'gzip' | 'xz' | 'zstd';

const magic: readonly [Compression, Buffer][] = [
  ['gzip', Buffer.from([0x1f, 0x8b])],
  ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])],
  ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])],
];

function compressionOf(start: Uint8Array): Compression {
  const head = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  return magic.find(([, bytes]) => head.subarray(0, bytes.length).equals(bytes))?.[0] ?? 'none';
}

/** The content without its compression. Throws `tar-invalid` when it is damaged. */
export async function* unpack(
  content: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const iterator = content[Symbol.asyncIterator]();
  try {
    const first = await atLeast(iterator, 6);
    const whole = join(first, iterator);
    yield* decompressed(compressionOf(first), whole, signal);
  } finally {
    await iterator.return?.();
  }
}

async function* decompressed(
  compression: Compression,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (compression === 'none') {
    yield* content;
    return;
  }
  if (compression === 'xz') {
    yield* streamTool(await requireTool('xz'), ['--decompress', '--stdout'], { stdin: content, signal });
    return;
  }
  const options = { chunkSize: 1 << 18 };
  const decoder = compression === 'gzip' ? createGunzip(options) : createZstdDecompress(options);
  const source = Readable.from(content);
  source.on('error', (error) => decoder.destroy(error));
  try {
    yield* source.pipe(decoder) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    if (cause instanceof ImagoError) throw cause;
    throw new ImagoError('tar-invalid', `the archive is damaged: it is not whole ${compression}`, { cause });
  } finally {
    source.destroy();
    decoder.destroy();
  }
}

async function atLeast(iterator: AsyncIterator<Uint8Array>, length: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < length) {
    const next = await iterator.next();
    if (next.done === true) break;
    bytes = Buffer.concat([bytes, next.value]);
  }
  return bytes;
}

async function* join(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
