// The compression of files by which Windows makes itself compact (WOF): XPRESS with Huffman codes, in chunks whose places
// are at the start of the stream. The other one, LZX, is not read.
import { ntfsInvalid } from './volume.ts';

const symbols = 512;
const tableBytes = symbols / 2;
const maxBits = 15;
const minLength = 3;

/** Yields the chunks of the file, of which the last may be shorter. */
export function* unpackXpress(input: Buffer, size: number, chunkBytes: number): Generator<Buffer> {
  const count = Math.ceil(size / chunkBytes);
  const first = Math.max(0, count - 1) * 4;
  if (first > input.length) throw damaged('the places of its chunks are missing');
  const placeOf = (index: number) => {
    if (index === 0) return first;
    return index === count ? input.length : first + input.readUInt32LE((index - 1) * 4);
  };
  for (let index = 0; index < count; index += 1) {
    const [start, end] = [placeOf(index), placeOf(index + 1)];
    const length = Math.min(chunkBytes, size - index * chunkBytes);
    if (start > end || end > input.length) throw damaged('a chunk is outside of the stream');
    const chunk = input.subarray(start, end);
    yield chunk.length === length ? chunk : unpackChunk(chunk, length);
  }
}

function damaged(why: string): Error {
  return ntfsInvalid(`a file that the system compressed is damaged: ${why}`);
}

function unpackChunk(input: Buffer, size: number): Buffer {
  if (input.length < tableBytes + 4) throw damaged('a chunk is too short');
  const table = readCodes(input);
  const output = Buffer.allocUnsafe(size);
  let at = tableBytes;
  const word = () => {
    const value = at + 2 <= input.length ? input.readUInt16LE(at) : 0;
    at += 2;
    return value;
  };
  let bits = ((word() << 16) | word()) >>> 0;
  let spare = 16;
  const take = (count: number) => {
    bits = (bits << count) >>> 0;
    spare -= count;
    if (spare >= 0) return;
    bits = (bits | (word() << -spare)) >>> 0;
    spare += 16;
  };
  for (let to = 0; to < size; ) {
    const found = table[bits >>> (32 - maxBits)] ?? 0;
    take(found & 0xf);
    const symbol = found >>> 4;
    if (symbol < 256) {
      output[to++] = symbol;
      continue;
    }
    let length = symbol & 0xf;
    if (length === 0xf) {
      const more = input[at++] ?? 0;
      length += more;
      if (more === 0xff) {
        length = word();
        if (length < 0xf) throw damaged('a copy has no length');
      }
    }
    const wide = (symbol - 256) >>> 4;
    const distance = (1 << wide) + (wide === 0 ? 0 : bits >>> (32 - wide));
    take(wide);
    if (distance > to) throw damaged('it copies from before its start');
    const end = Math.min(size, to + length + minLength);
    for (; to < end; to += 1) output[to] = output[to - distance] ?? 0;
  }
  return output;
}

/** For each 15 bits that can come next: the symbol, and in the lowest 4 bits the length of its code. */
function readCodes(input: Buffer): Uint16Array {
  const table = new Uint16Array(1 << maxBits);
  let next = 0;
  for (let length = 1; length <= maxBits; length += 1) {
    for (let symbol = 0; symbol < symbols; symbol += 1) {
      const byte = input[symbol >>> 1] ?? 0;
      if (((symbol & 1) === 0 ? byte & 0xf : byte >>> 4) !== length) continue;
      const span = 1 << (maxBits - length);
      if (next + span > table.length) throw damaged('its codes overlap');
      table.fill((symbol << 4) | length, next, next + span);
      next += span;
    }
  }
  if (next !== table.length) throw damaged('its codes are incomplete');
  return table;
}
