// Where a tar archive comes from: a stream that is read once, or a source in which content can be
// jumped over. The reader is the same for both.
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { tarInvalid } from './entry.ts';

export interface TarInput {
  /** Bytes taken so far: the place in the archive. */
  readonly position: number;
  /** Exactly `length` bytes, or `tar-invalid` when the archive ends before. Small lengths only. */
  take(length: number): Promise<Buffer>;
  /** At least one byte and at most `length`; `tar-invalid` at the end. */
  takeSome(length: number): Promise<Buffer>;
  skip(length: number): Promise<void>;
  /** The next bytes, whatever their number; undefined at the end. */
  takeRest(): Promise<Buffer | undefined>;
}

function cutShort(): Error {
  return tarInvalid('the archive is truncated');
}

export function streamInput(stream: AsyncIterable<Uint8Array>): TarInput & { close(): Promise<void> } {
  const iterator = stream[Symbol.asyncIterator]();
  let chunk: Buffer = Buffer.alloc(0);
  let position = 0;

  async function fill(): Promise<boolean> {
    while (chunk.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return false;
      chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    return true;
  }
  function cut(length: number): Buffer {
    const part = chunk.subarray(0, length);
    chunk = chunk.subarray(part.length);
    position += part.length;
    return part;
  }

  return {
    get position() {
      return position;
    },
    async takeSome(length) {
      if (!(await fill())) throw cutShort();
      return cut(length);
    },
    async take(length) {
      if (chunk.length >= length) return cut(length);
      const target = Buffer.allocUnsafe(length);
      for (let done = 0; done < length; ) {
        const part = await this.takeSome(length - done);
        part.copy(target, done);
        done += part.length;
      }
      return target;
    },
    async skip(length) {
      for (let left = length; left > 0; ) left -= (await this.takeSome(left)).length;
    },
    async takeRest() {
      return (await fill()) ? cut(chunk.length) : undefined;
    },
    async close() {
      await iterator.return?.();
    },
  };
}

export function sourceInput(source: ByteSource, windowSize = 256 * 1024): TarInput {
  let position = 0;
  let window: Buffer = Buffer.alloc(0);
  let start = 0;

  async function available(): Promise<Buffer> {
    if (position < start || position >= start + window.length) {
      start = position;
      window = await readBytes(source, start, Math.min(windowSize, source.size - start));
    }
    return window.subarray(position - start);
  }

  return {
    get position() {
      return position;
    },
    async takeSome(length) {
      if (position >= source.size) throw cutShort();
      const part = (await available()).subarray(0, length);
      position += part.length;
      return part;
    },
    async take(length) {
      if (position + length > source.size) throw cutShort();
      const ready = await available();
      const part =
        ready.length >= length ? ready.subarray(0, length) : await readBytes(source, position, length);
      position += length;
      return part;
    },
    async skip(length) {
      if (position + length > source.size) throw cutShort();
      position += length;
    },
    async takeRest() {
      return position >= source.size ? undefined : this.takeSome(windowSize);
    },
  };
}
