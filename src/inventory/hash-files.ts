// Hashes every file of a disk once, in the order in which they lie on it: a stored disk is then unpacked in one
// pass. Small files are hashed immediately, middling ones on other threads, and large ones piece by piece. Files whose
// bytes have a name that was hashed before are not read.
import { createHash, hash, webcrypto } from 'node:crypto';
import { throwIfAborted } from '../async/abort.ts';
import type { FileEntry, FileTree } from '../disk/tree/file-tree.ts';
import { ImagoError } from '../domain/error/imago-error.ts';

export interface FileHashes {
  readonly sha256: string;
  readonly sha1: string;
}

export interface HashFilesOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hashes by the names of the bytes, from other disks; see `FileTree.identify`. */
  readonly known?: ReadonlyMap<string, FileHashes> | undefined;
  /** Gets those of this disk, where its source names bytes. */
  readonly named?: Map<string, FileHashes> | undefined;
}

interface PlacedFile {
  readonly entry: FileEntry;
  readonly offset: number;
  readonly name: string | undefined;
}

const inline = 32 * 1024;
const threaded = 8 * 1024 * 1024;
const atOnce = 6;
/** Files share no blocks: more than this is a damaged disk. Holes are why it is more than once. */
const maxOverlap = 4;

/**
 * By inode. A file that cannot be read is left out, and one that says it is larger than its file system, for it is all
 * holes, and hashing them could take days.
 */
export async function hashFiles(
  reader: FileTree,
  entries: readonly FileEntry[],
  { signal, known, named }: HashFilesOptions = {},
): Promise<Map<number, FileHashes>> {
  const { totalBytes } = reader;
  const files = new Map<number, FileEntry>();
  for (const entry of entries) {
    if (entry.type === 'file' && entry.unreadable === undefined && entry.size <= totalBytes)
      files.set(entry.inode, entry);
  }
  const total = [...files.values()].reduce((sum, { size }) => sum + size, 0);
  if (total > maxOverlap * totalBytes) {
    throw new ImagoError('inventory-invalid', 'The files of the disk have more bytes than it can hold.');
  }
  const hashes = new Map<number, FileHashes>();
  const note = ({ entry, name }: PlacedFile, found: FileHashes) => {
    hashes.set(entry.inode, found);
    if (name !== undefined) named?.set(name, found);
  };
  const queue: PlacedFile[] = [];
  for (const file of await inDiskOrder(reader, [...files.values()])) {
    const found = file.name === undefined ? undefined : known?.get(file.name);
    if (found === undefined) queue.push(file);
    else note(file, found);
  }
  let next = 0;
  async function work(): Promise<void> {
    try {
      for (let file = queue[next++]; file !== undefined; file = queue[next++]) {
        throwIfAborted(signal);
        note(file, await hashFile(reader, file.entry));
      }
    } finally {
      // One that fails leaves nothing for the others to begin.
      next = queue.length;
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work));
  return hashes;
}

async function inDiskOrder(reader: FileTree, entries: readonly FileEntry[]): Promise<PlacedFile[]> {
  const placed: PlacedFile[] = [];
  for (const entry of entries) {
    let offset = 0;
    if (entry.size > 0) {
      for await (const extent of reader.extents(entry)) {
        offset = extent.offset;
        break;
      }
    }
    placed.push({ entry, offset, name: entry.size > 0 ? await reader.identify(entry) : undefined });
  }
  return placed.sort((a, b) => a.offset - b.offset);
}

async function hashFile(reader: FileTree, entry: FileEntry): Promise<FileHashes> {
  if (entry.size <= threaded) {
    const bytes = await reader.read(entry, threaded);
    if (bytes.length <= inline) return { sha256: hash('sha256', bytes), sha1: hash('sha1', bytes) };
    const [sha256, sha1] = await Promise.all([
      webcrypto.subtle.digest('SHA-256', bytes),
      webcrypto.subtle.digest('SHA-1', bytes),
    ]);
    return { sha256: Buffer.from(sha256).toString('hex'), sha1: Buffer.from(sha1).toString('hex') };
  }
  const [sha256, sha1] = [createHash('sha256'), createHash('sha1')];
  for await (const piece of reader.stream(entry)) {
    sha256.update(piece);
    sha1.update(piece);
  }
  return { sha256: sha256.digest('hex'), sha1: sha1.digest('hex') };
}
