// Cuts a disk into chunks by its content, so that a file that moved by whole blocks is found again.
//
// File systems place files on whole 4 KiB blocks. So cuts are made only between blocks, and whether to cut
// after a block depends on that block alone: a hash over every fourth word of it. A block that ends in zeros
// is most likely the last of a file, and is cut after eight times as often, so that chunks tend to hold
// whole files. Measured on a node image against a byte-wise gear hash (64 KiB on average): 20 times faster,
// half as many chunks, and as few new bytes after a component changed. Zeros are not stored: at least four zero blocks end a
// chunk, and one never begins or ends with zeros. Changing any number here makes every disk look new.
import { hash } from 'node:crypto';

export const blockSize = 4096;
export const minChunkBlocks = 16;
const maxChunkBlocks = 64;
const zeroRunBlocks = 4;
/** Zero blocks inside a chunk may carry it past the limit, though never as many as end it. */
export const maxChunkSize = (maxChunkBlocks + zeroRunBlocks - 1) * blockSize;
export const chunkerName = 'blocks-v1';

const insideMask = 31;
const fileEndMask = 3;
const wordsInBlock = blockSize / 4;
const wordStride = 4;
const wordsOfFileEnd = 4;
const zeroBlock = Buffer.alloc(blockSize);

export interface ChunkCut {
  /** Zero bytes before the chunk. */
  readonly hole: number;
  /** 0 when only zeros are left; `undefined` when more bytes are needed to tell. */
  readonly length: number | undefined;
}

/**
 * Finds the next chunk in `bytes` between `start` and `end`, both of which count from a block boundary.
 * `last` says that zeros, or nothing, follow `end`. The answer depends only on the bytes after `start`.
 */
export function nextChunk(bytes: Buffer, start: number, end: number, last: boolean): ChunkCut {
  let at = start;
  while (at < end && isZeroBlock(bytes, at, end)) at += blockSize;
  if (at >= end) return { hole: end - start, length: 0 };
  const chunkStart = at;
  const hole = chunkStart - start;
  let dataEnd = at;
  let zeros = 0;
  for (; at < end; at += blockSize) {
    if (at + blockSize > end && !last) return { hole, length: undefined };
    if (isZeroBlock(bytes, at, end)) {
      zeros += 1;
      if (zeros === zeroRunBlocks) return { hole, length: dataEnd - chunkStart };
      continue;
    }
    zeros = 0;
    dataEnd = Math.min(at + blockSize, end);
    const blocks = (at - chunkStart) / blockSize + 1;
    if (blocks >= maxChunkBlocks) return { hole, length: dataEnd - chunkStart };
    if (blocks >= minChunkBlocks && at + blockSize <= end && cutsAfter(bytes, at)) {
      return { hole, length: dataEnd - chunkStart };
    }
  }
  return { hole, length: last ? dataEnd - chunkStart : undefined };
}

function isZeroBlock(bytes: Buffer, at: number, end: number): boolean {
  const length = Math.min(blockSize, end - at);
  if (bytes[at] !== 0 || bytes[at + length - 1] !== 0) return false;
  return bytes.compare(zeroBlock, 0, length, at, at + length) === 0;
}

function cutsAfter(bytes: Buffer, at: number): boolean {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, wordsInBlock);
  let mixed = 0;
  for (let index = 0; index < wordsInBlock; index += wordStride) {
    mixed = (Math.imul(mixed ^ (words[index] ?? 0), 0x9e3779b1) + (mixed >>> 15)) | 0;
  }
  mixed ^= mixed >>> 16;
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  return (mixed & (endsInZeros(words) ? fileEndMask : insideMask)) === 0;
}

function endsInZeros(words: Int32Array): boolean {
  for (let index = wordsInBlock - wordsOfFileEnd; index < wordsInBlock; index += 1) {
    if (words[index] !== 0) return false;
  }
  return true;
}

export function chunkHash(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}
