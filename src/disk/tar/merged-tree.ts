// The result of merging layers: can be looked into, and streamed as one canonical archive as often as
// needed. File contents are copied from the layers piece by piece and never held as a whole.

import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import type { TarEntry } from './entry.ts';
import { encodeHeader, paddingOf, tarBlock } from './header.ts';
import { isDirectory, type LayerFile, nodesInOrder, pathOf, type TreeNode, walk } from './layer-tree.ts';

export interface MergedTree {
  /** Every name once, in the order of the archive: parents before children. */
  entries(): Generator<TarEntry>;
  /** The entry of a path, with symlinks in it followed inside of the tree; undefined when there is none. */
  find(path: string): TarEntry | undefined;
  /** The names in a folder, sorted; undefined when there is no such folder. */
  list(path: string): string[] | undefined;
  /** A file's content; undefined when there is no such file. Refuses what is longer than `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** The archive. The same layers give the same bytes. A piece is good until the next one is asked for. */
  stream(signal?: AbortSignal): AsyncGenerator<Buffer>;
}

interface Placed {
  readonly entry: TarEntry;
  readonly file: LayerFile;
}

const chunkSize = 1024 * 1024;

export function mergedTree(root: TreeNode, sources: readonly ByteSource[]): MergedTree {
  function* placed(): Generator<Placed> {
    const ordered = [...nodesInOrder(root)].sort((a, b) => a.rank - b.rank);
    const firstName = new Map<LayerFile, string>();
    for (const node of ordered) {
      const { file } = node;
      const path = pathOf(node);
      const first = isDirectory(node) ? undefined : firstName.get(file);
      if (first === undefined) {
        firstName.set(file, path);
        yield { entry: { ...file.entry, path }, file };
      } else {
        yield { entry: hardLink(file.entry, path, first), file };
      }
    }
  }

  function nodeAt(path: string): TreeNode | undefined {
    return walk(root, path);
  }

  return {
    *entries() {
      for (const { entry } of placed()) yield entry;
    },
    find(path) {
      const node = nodeAt(path);
      return node === undefined ? undefined : { ...node.file.entry, path: pathOf(node) };
    },
    list(path) {
      const node = nodeAt(path);
      return node === undefined || !isDirectory(node) ? undefined : [...node.children.keys()].sort();
    },
    async read(path, maxBytes) {
      const file = nodeAt(path)?.file;
      if (file === undefined || file.entry.type !== 'file') return undefined;
      if (file.entry.size > maxBytes) {
        throw new ImagoError(
          'tar-limit',
          `${path} has ${file.entry.size} bytes, more than the ${maxBytes} expected`,
        );
      }
      return readBytes(sourceOf(sources, file), file.offset, file.entry.size);
    },
    stream(signal) {
      return streamEntries(
        placed(),
        sources.map((source) => readAhead(source)),
        signal,
      );
    },
  };
}

function hardLink(entry: TarEntry, path: string, first: string): TarEntry {
  return { ...entry, path, type: 'hardlink', link: first, size: 0, device: undefined, xattrs: new Map() };
}

function sourceOf(sources: readonly ByteSource[], file: LayerFile): ByteSource {
  const source = sources[file.layer];
  if (source === undefined) throw new ImagoError('internal', `there is no layer ${file.layer}`);
  return source;
}

interface Segment {
  readonly length: number;
  /** Writes the segment's bytes from `from` on over all of `target`. */
  fill(target: Buffer, from: number): Promise<unknown> | unknown;
}

function* segments(placed: Iterable<Placed>, sources: readonly ByteSource[]): Generator<Segment> {
  const zeros = (length: number): Segment => ({ length, fill: (target) => target.fill(0) });
  for (const { entry, file } of placed) {
    const header = encodeHeader(entry);
    yield { length: header.length, fill: (target, from) => header.copy(target, 0, from) };
    if (entry.size === 0) continue;
    const source = sourceOf(sources, file);
    yield { length: entry.size, fill: (target, from) => source.read(file.offset + from, target) };
    yield zeros(paddingOf(entry.size));
  }
  yield zeros(2 * tarBlock);
}

async function* streamEntries(
  placed: Iterable<Placed>,
  sources: readonly ByteSource[],
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  // One for all: new ones would keep the garbage collector busy for a good part of a build.
  const chunk = Buffer.allocUnsafeSlow(chunkSize);
  let used = 0;
  for (const segment of segments(placed, sources)) {
    throwIfAborted(signal);
    for (let done = 0; done < segment.length; ) {
      const target = chunk.subarray(used, used + Math.min(chunkSize - used, segment.length - done));
      const filling = segment.fill(target, done);
      if (filling instanceof Promise) await filling;
      done += target.length;
      used += target.length;
      if (used < chunkSize) continue;
      yield chunk;
      used = 0;
    }
  }
  if (used > 0) yield chunk.subarray(0, used);
}

/** Serves small reads that follow each other from one larger one. For one reader at a time. */
function readAhead(source: ByteSource): ByteSource {
  const window = Buffer.allocUnsafe(chunkSize / 2);
  let start = 0;
  let length = 0;
  return {
    size: source.size,
    async read(position, target) {
      if (target.length >= window.length) return source.read(position, target);
      if (position < start || position + target.length > start + length) {
        length = Math.min(window.length, source.size - position);
        start = position;
        await source.read(position, window.subarray(0, length));
      }
      window.copy(target, 0, position - start, position - start + target.length);
      return target;
    },
  };
}
