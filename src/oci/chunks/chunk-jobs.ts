// The work on chunks that fills a processor: compressing, decompressing, checking. Plain synchronous
// functions over open files, so that they run the same in a worker thread and in the caller's own.
import { createHash } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameFileError } from '../../host/files/durable-files.ts';
import { chunkHash, maxChunkSize } from './chunker.ts';
import { frameTarget, PackTable } from './pack-format.ts';

export const compressionLevel = 3;
const maxFrameSize = frameTarget + maxChunkSize;
/** A little more than is needed spares zlib a second round with a second buffer. */
const spareOutput = 64;

export interface EncodeJob {
  /** The raw disk. */
  readonly fd: number;
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly hashes: Uint8Array;
  /** How many of the chunks go into each frame, one after the other. */
  readonly frames: Uint32Array;
}

export interface EncodeResult {
  /** The frames, one after the other. */
  readonly stored: Uint8Array;
  readonly storedLengths: Uint32Array;
  readonly storedHashes: Uint8Array;
}

/** Reads chunks from a disk and compresses them. `disk-changed` when one no longer has its hash. */
function encode(job: EncodeJob): EncodeResult {
  const buffer = Buffer.allocUnsafe(maxFrameSize);
  const parts: Buffer[] = [];
  let chunk = 0;
  for (const count of job.frames) {
    let filled = 0;
    for (const end = chunk + count; chunk < end; chunk += 1) {
      const bytes = buffer.subarray(filled, filled + (job.lengths[chunk] ?? 0));
      const offset = job.offsets[chunk] ?? 0;
      if (
        !readExactly(job.fd, bytes, offset) ||
        chunkHash(bytes).compare(job.hashes, chunk * 32, chunk * 32 + 32) !== 0
      ) {
        throw new ImagoError('disk-changed', `the disk changed at ${offset} while it was being stored`);
      }
      filled += bytes.length;
    }
    parts.push(compressFrame(buffer.subarray(0, filled)));
  }
  const result = {
    stored: joined(parts),
    storedLengths: Uint32Array.from(parts, (part) => part.length),
    storedHashes: joined(parts.map(chunkHash)),
  };
  for (const part of parts) free(part);
  return result;
}

/** One frame of a pack, and which of its bytes go where. */
export interface FrameToDecode {
  readonly packOffset: number;
  readonly storedLength: number;
  readonly storedHash: Uint8Array;
  readonly length: number;
  /** Three numbers each: from where in the frame, how many bytes, to where on the disk. */
  readonly places: readonly number[];
}

export interface DecodeJob {
  readonly packFd: number;
  readonly outFd: number;
  readonly frames: readonly FrameToDecode[];
}

export interface DecodeResult {
  /** The number within the job of a frame that is damaged. */
  readonly damaged: number | undefined;
}

/** Reads frames from a pack, checks them, and writes what they hold to a disk. */
function decode(job: DecodeJob): DecodeResult {
  const buffer = Buffer.allocUnsafe(Math.max(0, ...job.frames.map((frame) => frame.storedLength)));
  for (const [number, frame] of job.frames.entries()) {
    const stored = buffer.subarray(0, frame.storedLength);
    if (!readExactly(job.packFd, stored, frame.packOffset)) return { damaged: number };
    const bytes = decompressFrame(stored, frame.storedHash, frame.length);
    if (bytes === undefined) return { damaged: number };
    for (let place = 0; place < frame.places.length; place += 3) {
      const [from = 0, length = 0, to = 0] = frame.places.slice(place, place + 3);
      writeAll(job.outFd, bytes.subarray(from, from + length), to);
    }
    free(bytes);
  }
  return { damaged: undefined };
}

export interface CheckJob {
  readonly packFd: number;
  readonly table: Uint8Array;
  readonly chunks: number;
  readonly frames: number;
}

export interface CheckResult {
  /** Of the whole pack. */
  readonly sha256: string;
  readonly size: number;
  /** Numbers of chunks that are damaged. */
  readonly damaged: readonly number[];
}

/** Reads a whole pack once, hashes it, and checks every frame and every chunk of it. */
function check(job: CheckJob): CheckResult {
  const table = PackTable.parse(Buffer.from(job.table), job.chunks, job.frames);
  const hash = createHash('sha256');
  const damaged: number[] = [];
  let chunk = 0;
  let at = 0;
  for (let frame = 0; frame < table.frameCount; frame += 1) {
    const stored = Buffer.allocUnsafe(table.storedLength(frame));
    const whole = readExactly(job.packFd, stored, at);
    if (whole) hash.update(stored);
    const end = chunk + table.chunksOf(frame);
    const bytes = whole
      ? decompressFrame(stored, table.storedHash(frame), frameLength(table, chunk, end))
      : undefined;
    for (let from = 0; chunk < end; chunk += 1) {
      const length = table.length(chunk);
      const content = bytes?.subarray(from, from + length);
      if (content === undefined || !table.hasHash(chunk, chunkHash(content), 0)) damaged.push(chunk);
      from += length;
    }
    if (bytes !== undefined) free(bytes);
    at += stored.length;
    free(stored);
  }
  const rest = Buffer.allocUnsafe(64 * 1024);
  for (;;) {
    const read = readSync(job.packFd, rest, 0, rest.length, at);
    if (read === 0) break;
    hash.update(rest.subarray(0, read));
    at += read;
  }
  return { sha256: hash.digest('hex'), size: at, damaged };
}

export const chunkJobs = { encode, decode, check };

export type ChunkJobs = typeof chunkJobs;
export type JobKind = keyof ChunkJobs;
export type JobInput<K extends JobKind> = Parameters<ChunkJobs[K]>[0];
export type JobResult<K extends JobKind> = ReturnType<ChunkJobs[K]>;

export function compressFrame(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: compressionLevel },
    chunkSize: bytes.length + spareOutput,
  });
}

/** The content of a frame, or `undefined` when the stored bytes are not those that were written. */
export function decompressFrame(
  stored: Uint8Array,
  storedHash: Uint8Array,
  length: number,
): Buffer | undefined {
  if (length > maxFrameSize || chunkHash(stored).compare(storedHash) !== 0) return undefined;
  try {
    const bytes = zstdDecompressSync(stored, {
      chunkSize: length + spareOutput,
      maxOutputLength: length + spareOutput,
    });
    return bytes.length === length ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Bytes of the chunks `from` up to, not including, `to`. */
function frameLength(table: PackTable, from: number, to: number): number {
  let sum = 0;
  for (let chunk = from; chunk < to; chunk += 1) sum += table.length(chunk);
  return sum;
}

/**
 * Gives a large buffer's memory back now. Left to the garbage collector, far more of it would pile up in each
 * thread than is ever in use. Small buffers share their memory with others.
 */
export function free({ buffer }: Uint8Array): void {
  if (buffer.byteLength > Buffer.poolSize && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** In memory of its own, so that it can be handed to another thread. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** False when the file ends before the target is full. */
function readExactly(fd: number, target: Buffer, position: number): boolean {
  let done = 0;
  while (done < target.length) {
    const read = readSync(fd, target, done, target.length - done, position + done);
    if (read === 0) return false;
    done += read;
  }
  return true;
}

function writeAll(fd: number, bytes: Buffer, position: number): void {
  try {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(fd, bytes, done, bytes.length - done, position + done);
    }
  } catch (error) {
    throw nameFileError(error, 'writing the disk');
  }
}
