// A file as many zstd frames, one behind the other: any zstd program can read it, and Imago packs and unpacks
// several frames at the same time. Each frame carries a checksum, so that damage is noticed.
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { readFully, writeFully } from '../../images/byte-source.ts';
import { throwIfAborted } from '../../images/run-tool.ts';
import { free } from '../../images/store/chunk-jobs.ts';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const frameBytes = 4 * 1024 * 1024;
const atOnce = 3;
const params = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

export interface FrameList {
  /** Of the content. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly storedBytes: number;
  /** The length of each frame as it is stored; all but the last hold 4 MiB. */
  readonly frames: readonly number[];
}

/** So much that one round is enough; zlib takes no less than 64. */
function outputRoom(length: number): number {
  return Math.max(64, length);
}

/** Packs `source` into `target`, which is flushed to disk. */
export async function packFile(source: string, target: string): Promise<FrameList> {
  const input = await open(source, 'r');
  try {
    const output = await open(target, 'w');
    try {
      return await packFrames(input, output);
    } finally {
      await output.close();
    }
  } finally {
    await input.close();
  }
}

async function packFrames(input: FileHandle, output: FileHandle): Promise<FrameList> {
  const { size } = await input.stat();
  const hash = createHash('sha256');
  const frames: number[] = [];
  const waiting: Promise<Buffer>[] = [];
  let stored = 0;
  const writeOldest = async () => {
    const frame = await (waiting.shift() ?? Buffer.alloc(0));
    await writeFully(output, stored, frame);
    frames.push(frame.length);
    stored += frame.length;
    free(frame);
  };
  const pack = async (part: Buffer) => {
    const frame = await compress(part, { params, chunkSize: outputRoom(part.length) });
    free(part);
    return frame;
  };
  for (let at = 0; at < size; at += frameBytes) {
    const part = await readFully(input, at, Buffer.allocUnsafe(Math.min(frameBytes, size - at)));
    hash.update(part);
    waiting.push(pack(part));
    if (waiting.length >= atOnce) await writeOldest();
  }
  while (waiting.length > 0) await writeOldest();
  await output.datasync();
  return { sha256: hash.digest('hex'), sizeBytes: size, storedBytes: stored, frames };
}

/** Unpacks into `target`. False when what is stored is damaged or not what the list says. */
export async function unpackFile(
  source: string,
  target: string,
  list: Omit<FrameList, 'sha256'>,
  signal?: AbortSignal,
): Promise<boolean> {
  const input = await open(source, 'r');
  try {
    if ((await input.stat()).size !== list.storedBytes) return false;
    const output = await open(target, 'w');
    try {
      return await unpackFrames(input, output, list, signal);
    } finally {
      await output.close();
    }
  } finally {
    await input.close();
  }
}

async function unpackFrames(
  input: FileHandle,
  output: FileHandle,
  { frames, sizeBytes }: Pick<FrameList, 'frames' | 'sizeBytes'>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (frames.length !== Math.ceil(sizeBytes / frameBytes)) return false;
  const starts: number[] = [];
  frames.reduce((at, length) => {
    starts.push(at);
    return at + length;
  }, 0);
  let next = 0;
  let good = true;
  const worker = async () => {
    while (good && next < frames.length) {
      throwIfAborted(signal);
      const number = next++;
      const stored = await readFully(input, starts[number] ?? 0, Buffer.allocUnsafe(frames[number] ?? 0));
      const length = Math.min(frameBytes, sizeBytes - number * frameBytes);
      const part = await decompress(stored, {
        chunkSize: outputRoom(length + 1),
        maxOutputLength: length,
      }).catch(() => undefined);
      free(stored);
      if (part?.length !== length) good = false;
      else await writeFully(output, number * frameBytes, part);
      if (part !== undefined) free(part);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return good;
}
