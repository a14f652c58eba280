// The files of a file system, whatever its format: what inventory, hashes and scans are written over.
import type { ByteSource } from '../bytes/byte-source.ts';
import type { Extent } from '../bytes/extent.ts';

export const fileTypes = ['file', 'directory', 'symlink', 'character', 'block', 'fifo', 'socket'] as const;
export type FileType = (typeof fileTypes)[number];

export interface FileEntry {
  /** From the root: `/etc/passwd`. Names that cannot be text have their bytes written as `\xNN`. */
  readonly path: string;
  readonly type: FileType;
  /** 0 on NTFS, as are `uid` and `gid`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Bytes of content; 0 for all but files. */
  readonly size: number;
  readonly mtime: number;
  /** A symlink's target as written, else empty. */
  readonly link: string;
  readonly device: { readonly major: number; readonly minor: number } | undefined;
  /** The same for all names of one file. */
  readonly inode: number;
  readonly links: number;
  readonly attributes: ReadonlyMap<string, Buffer>;
  /** Why the content cannot be read, e.g. `encrypted`; it has no hash then. */
  readonly unreadable?: string;
}

export interface WalkOptions {
  readonly signal?: AbortSignal | undefined;
  /** More entries than this are refused. Five million unless given. */
  readonly maxEntries?: number;
}

export const defaultMaxEntries = 5_000_000;

export interface FileTree {
  /** Of the file system. */
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Every entry, the root first and each directory before what is in it, by name in the order of code units. */
  walk(options?: WalkOptions): AsyncGenerator<FileEntry>;
  /** The entry at a path, links not followed; `undefined` when there is none. */
  find(path: string): Promise<FileEntry | undefined>;
  /** A file's content in pieces. Throws as the reader does for what is not a file. */
  stream(entry: Pick<FileEntry, 'inode'>): AsyncGenerator<Buffer>;
  /** A file's content; `input-invalid` when it has more than `maxBytes`. */
  read(entry: Pick<FileEntry, 'inode'>, maxBytes: number): Promise<Buffer>;
  /** Where a file's content lies, from the start of the file system, in the order of the file. */
  extents(entry: Pick<FileEntry, 'inode'>): AsyncGenerator<Extent>;
  /**
   * A name for a file's content, 64 hex digits, without reading it: files of one name have the same bytes, on
   * whatever disks. `undefined` where the source names no bytes, and for what lies beside the metadata.
   */
  identify(entry: Pick<FileEntry, 'inode'>): Promise<string | undefined>;
}

const pieceSize = 1024 * 1024;
const zeros = Buffer.alloc(pieceSize);

export function* zerosOf(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= pieceSize) yield zeros.subarray(0, Math.min(left, pieceSize));
}

export async function* readRange(source: ByteSource, start: number, length: number): AsyncGenerator<Buffer> {
  for (let done = 0; done < length; done += pieceSize) {
    yield await source.read(start + done, Buffer.allocUnsafe(Math.min(pieceSize, length - done)));
  }
}

/** For names of contents: numbers as bytes. */
export function numberBytes(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeDoubleLE(value, index * 8);
  return bytes;
}
