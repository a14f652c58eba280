// The work on chunks that fills a processor: compressing, decompressing, checking. Plain synchronous
// functions over open files, so that they run the same in a worker thread and in the caller's own.
import { createHash } from 'node:crypto';
import { readSync, writevSync } from 'node:fs';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ImagoError } from '../../domain/errors.ts';
import { chunkHash, maxChunkSize } from './chunker.ts';
import { storeError } from './files.ts';
import { PackTable } from './pack-format.ts';

export const compressionLevel = 3;
const leastOutput = 64;

export interface EncodeJob {
  /** The raw disk. */
  readonly fd: number;
  readonly offsets: Float64Array;
  readonly lengths: Uint32Array;
  readonly hashes: Uint8Array;
}

export interface EncodeResult {
  /** The compressed chunks, one after the other. */
  readonly stored: Uint8Array;
  readonly storedLengths: Uint32Array;
}

/** Reads chunks from a disk and compresses them. `disk-changed` when one no longer has its hash. */
function encode(job: EncodeJob): EncodeResult {
  const parts: Buffer[] = [];
  const buffer = Buffer.allocUnsafe(maxChunkSize);
  for (const [number, offset] of job.offsets.entries()) {
    const bytes = buffer.subarray(0, job.lengths[number]);
    if (!readExactly(job.fd, bytes, offset) || !sameHash(bytes, job.hashes, number)) {
      throw new ImagoError('disk-changed', `the disk changed at ${offset} while it was being stored`);
    }
    parts.push(compressChunk(bytes));
  }
  const stored = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    stored.set(part, at);
    at += part.length;
  }
  return { stored, storedLengths: Uint32Array.from(parts, (part) => part.length) };
}

export interface DecodeJob {
  readonly packFd: number;
  readonly packOffset: number;
  /** Records of chunks that lie one after the other, in the pack and on the disk. */
  readonly table: Uint8Array;
  readonly outFd: number;
  readonly outOffset: number;
}

export interface DecodeResult {
  /** The number within the job of a chunk that is damaged; nothing was written then. */
  readonly damaged: number | undefined;
}

/** Reads chunks from a pack, checks them, and writes them to a disk. */
function decode(job: DecodeJob): DecodeResult {
  const table = new PackTable(Buffer.from(job.table));
  const packed = Buffer.allocUnsafe(table.storedBytes(0, table.count));
  if (!readExactly(job.packFd, packed, job.packOffset)) return { damaged: 0 };
  const chunks: Buffer[] = [];
  let at = 0;
  for (let index = 0; index < table.count; index += 1) {
    const end = at + table.storedLength(index);
    const chunk = decompressChunk(packed.subarray(at, end), table, index);
    if (chunk === undefined) return { damaged: index };
    chunks.push(chunk);
    at = end;
  }
  try {
    writeAll(job.outFd, chunks, job.outOffset);
  } catch (error) {
    throw storeError(error, 'writing the disk');
  }
  return { damaged: undefined };
}

export interface CheckJob {
  readonly packFd: number;
  readonly packSize: number;
  readonly table: Uint8Array;
}

export interface CheckResult {
  /** Of the whole pack. */
  readonly sha256: string;
  readonly size: number;
  /** Numbers of chunks that are damaged. */
  readonly damaged: readonly number[];
}

/** Reads a whole pack once, hashes it, and checks every chunk of it. */
function check(job: CheckJob): CheckResult {
  const table = new PackTable(Buffer.from(job.table));
  const hash = createHash('sha256');
  const damaged: number[] = [];
  let at = 0;
  for (let index = 0; index < table.count; index += 1) {
    const stored = Buffer.allocUnsafe(table.storedLength(index));
    const whole = readExactly(job.packFd, stored, at);
    if (whole) hash.update(stored);
    if (!whole || decompressChunk(stored, table, index) === undefined) damaged.push(index);
    at += stored.length;
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

export function compressChunk(bytes: Uint8Array): Buffer {
  return zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: compressionLevel },
    chunkSize: Math.max(bytes.length, leastOutput),
  });
}

/** The chunk, or `undefined` when the stored bytes are not those of the table's record. */
export function decompressChunk(stored: Uint8Array, table: PackTable, index: number): Buffer | undefined {
  const length = table.length(index);
  if (length > maxChunkSize) return undefined;
  let chunk: Buffer;
  try {
    chunk = zstdDecompressSync(stored, {
      chunkSize: Math.max(length, leastOutput),
      maxOutputLength: Math.max(length, leastOutput),
    });
  } catch {
    return undefined;
  }
  if (chunk.length !== length || !table.hasHash(index, chunkHash(chunk), 0)) return undefined;
  return chunk;
}

function sameHash(bytes: Uint8Array, hashes: Uint8Array, number: number): boolean {
  return chunkHash(bytes).compare(hashes, number * 32, number * 32 + 32) === 0;
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

function writeAll(fd: number, parts: readonly Buffer[], position: number): void {
  let left = [...parts];
  let at = position;
  while (left.length > 0) {
    let written = writevSync(fd, left, at);
    at += written;
    const rest: Buffer[] = [];
    for (const part of left) {
      if (written < part.length) rest.push(written === 0 ? part : part.subarray(written));
      written = Math.max(0, written - part.length);
    }
    left = rest;
  }
}
