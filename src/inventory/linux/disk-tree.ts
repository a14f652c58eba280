// The files of a disk's root file system, held by path: what the readers of an inventory look things up in.

import type { FileEntry, FileTree, WalkOptions } from '../../disk/tree/file-tree.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface DiskTree {
  /** Every entry, in the order of the walk. */
  readonly entries: readonly FileEntry[];
  /** The entry at a path, links followed as a system that runs from the disk would; `undefined` when there is none. */
  resolve(path: string): FileEntry | undefined;
  /** The entry at a path whose last part is not followed. */
  look(path: string): FileEntry | undefined;
  /** What is directly in a directory, links to it followed; the empty list when there is none. */
  list(path: string): readonly FileEntry[];
  /** A text file; `undefined` when there is none at the path, `inventory-invalid` when it is too large. */
  readText(path: string): Promise<string | undefined>;
  read(entry: FileEntry, maxBytes: number): Promise<Buffer>;
}

const maxText = 64 * 1024 * 1024;
const maxFollowed = 40;

export async function readTree(reader: FileTree, options: WalkOptions = {}): Promise<DiskTree> {
  const entries: FileEntry[] = [];
  const byPath = new Map<string, FileEntry>();
  const children = new Map<string, FileEntry[]>();
  for await (const entry of reader.walk(options)) {
    entries.push(entry);
    byPath.set(entry.path, entry);
    if (entry.path === '/') continue;
    const parent = parentOf(entry.path);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [entry]);
    else siblings.push(entry);
  }

  function follow(path: string, followLast: boolean): FileEntry | undefined {
    let left = path.split('/').filter((part) => part !== '');
    let at = '/';
    let followed = 0;
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (part === '.') continue;
      if (part === '..') {
        at = parentOf(at);
        continue;
      }
      const next = at === '/' ? `/${part}` : `${at}/${part}`;
      const entry = byPath.get(next);
      if (entry === undefined) return undefined;
      if (entry.type !== 'symlink' || (left.length === 0 && !followLast)) {
        at = next;
        continue;
      }
      followed += 1;
      if (followed > maxFollowed) return undefined;
      if (entry.link.startsWith('/')) at = '/';
      left = [...entry.link.split('/').filter((name) => name !== ''), ...left];
    }
    return byPath.get(at);
  }

  return {
    entries,
    resolve: (path) => follow(path, true),
    look: (path) => follow(path, false),
    list(path) {
      const folder = follow(path, true);
      return folder === undefined ? [] : (children.get(folder.path) ?? []);
    },
    async readText(path) {
      const entry = follow(path, true);
      if (entry === undefined || entry.type !== 'file') return undefined;
      if (entry.size > maxText) throw new ImagoError('inventory-invalid', `${path} has ${entry.size} bytes`);
      return (await reader.read(entry, maxText)).toString('utf8');
    },
    read: (entry, maxBytes) => reader.read(entry, maxBytes),
  };
}

export function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
