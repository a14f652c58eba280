// Random access to bytes, whatever holds them: a file, memory, or a part of another source.
// Readers of disk formats are written over this, so that tests can hand them any bytes at all.
import { type FileHandle, open } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface ByteSource {
  readonly size: number;
  /**
   * Fills `target` from `position` and returns it. Reading past the end is an error of the caller and
   * throws; a source that ends sooner than its size said throws too. Safe to call concurrently.
   */
  read(position: number, target: Buffer): Promise<Buffer>;
  /**
   * Returns a name for bytes without reading them: two places of one length, in whatever sources, that have the same
   * name hold the same bytes. The same bytes may have several names. Absent where a source knows of none.
   */
  identify?(position: number, length: number): Buffer;
}

export interface OpenByteSource extends ByteSource {
  /** Frees the file. A second call does nothing. */
  close(): Promise<void>;
}

function checkRange(size: number, position: number, length: number): void {
  if (position >= 0 && position + length <= size) return;
  throw new ImagoError('internal', `read of ${length} bytes at ${position} is outside of ${size} bytes`);
}

export async function readBytes(source: ByteSource, position: number, length: number): Promise<Buffer> {
  checkRange(source.size, position, length);
  return source.read(position, Buffer.allocUnsafe(length));
}

/** Fills `target` from an open file, however few bytes each read brings. */
export async function readFully(handle: FileHandle, position: number, target: Buffer): Promise<Buffer> {
  let done = 0;
  while (done < target.length) {
    const { bytesRead } = await handle.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) {
      throw new ImagoError('file-missing', `the file ended at ${position + done}, before its size said`);
    }
    done += bytesRead;
  }
  return target;
}

export async function writeFully(handle: FileHandle, position: number, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Opens a file for reading; its size is taken once. A file that does not exist is `file-missing`. */
export async function openFileSource(path: string): Promise<OpenByteSource> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r');
    const { size } = await handle.stat();
    return fileSource(handle, size);
  } catch (error) {
    await handle?.close();
    throw new ImagoError('file-missing', `cannot read ${path}`, { cause: error });
  }
}

function fileSource(handle: FileHandle, size: number): OpenByteSource {
  let closed = false;
  return {
    size,
    async read(position, target) {
      checkRange(size, position, target.length);
      return readFully(handle, position, target);
    },
    async close() {
      if (closed) return;
      closed = true;
      await handle.close();
    },
  };
}

/** A window on another source: position 0 of the result is `offset` of `source`. */
export function partOf(source: ByteSource, offset: number, size: number): ByteSource {
  checkRange(source.size, offset, size);
  return {
    size,
    async read(position, target) {
      checkRange(size, position, target.length);
      return source.read(offset + position, target);
    },
    ...(source.identify !== undefined && {
      identify(position: number, length: number) {
        checkRange(size, position, length);
        return source.identify?.(offset + position, length) ?? Buffer.alloc(0);
      },
    }),
  };
}
