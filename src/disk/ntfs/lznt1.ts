// The compression of NTFS: chunks of 4 KiB, each of tokens that are a byte or a copy of earlier bytes of the chunk.
import { ntfsInvalid } from './volume.ts';

const chunkSize = 4096;

/** Unpacks into `size` bytes; what the input does not fill stays zero. */
export function unpackLznt1(input: Buffer, size: number): Buffer {
  const output = Buffer.alloc(size);
  let [at, to] = [0, 0];
  while (at + 2 <= input.length && to < size) {
    const head = input.readUInt16LE(at);
    if (head === 0) break;
    const end = at + 2 + (head & 0xfff) + 1;
    if (end > input.length) throw ntfsInvalid('a compressed file ends early');
    const limit = Math.min(to + chunkSize, size);
    if ((head & 0x8000) === 0) input.copy(output, to, at + 2, Math.min(end, at + 2 + limit - to));
    else unpackChunk(input, at + 2, end, output, to, limit);
    at = end;
    to += chunkSize;
  }
  return output;
}

function unpackChunk(
  input: Buffer,
  start: number,
  end: number,
  output: Buffer,
  first: number,
  limit: number,
): void {
  let [at, to, shift] = [start, first, 12];
  while (at < end && to < limit) {
    const flags = input[at++] ?? 0;
    for (let bit = 0; bit < 8 && at < end && to < limit; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        output[to++] = input[at++] ?? 0;
        continue;
      }
      if (at + 2 > end) throw ntfsInvalid('a compressed file has half a token');
      const token = input.readUInt16LE(at);
      at += 2;
      while (to - first - 1 >= 1 << (16 - shift)) shift -= 1;
      const from = to - (token >> shift) - 1;
      if (from < first) throw ntfsInvalid('a compressed file copies from before its start');
      const length = (token & ((1 << shift) - 1)) + 3;
      for (let index = 0; index < length && to < limit; index += 1) output[to++] = output[from + index] ?? 0;
    }
  }
}
