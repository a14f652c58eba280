// Writes tar archives whose bytes follow from the entries alone.
import type { TarEntry } from './entry.ts';
import { tarInvalid } from './entry.ts';
import { encodeHeader, paddingOf, tarBlock } from './header.ts';

export interface TarItem {
  readonly entry: TarEntry;
  /** Exactly `entry.size` bytes; left out for what has no content. */
  readonly content?: Uint8Array | AsyncIterable<Uint8Array>;
}

/** An entry with the usual owner, mode and time, for callers that care only about some of it. */
export function tarEntry(path: string, change: Partial<TarEntry> = {}): TarEntry {
  const type = change.type ?? 'file';
  return {
    path,
    type,
    mode: type === 'directory' ? 0o755 : type === 'symlink' ? 0o777 : 0o644,
    uid: 0,
    gid: 0,
    mtime: 0,
    size: 0,
    link: '',
    device: undefined,
    xattrs: new Map(),
    ...change,
  };
}

/** A file with its content, as one item. */
export function tarFile(path: string, content: Uint8Array | string, change: Partial<TarEntry> = {}): TarItem {
  const bytes = Buffer.from(content);
  return { entry: tarEntry(path, { ...change, size: bytes.length }), content: bytes };
}

/** Streams an archive in the order of the items. Content that is longer or shorter than said throws. */
export async function* writeTar(items: Iterable<TarItem> | AsyncIterable<TarItem>): AsyncGenerator<Buffer> {
  for await (const { entry, content } of items) {
    yield encodeHeader(entry);
    let written = 0;
    for await (const part of content instanceof Uint8Array ? [content] : (content ?? [])) {
      written += part.length;
      if (written > entry.size) break;
      yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    }
    if (written !== entry.size) throw tarInvalid(`${entry.path} has ${written} bytes and not ${entry.size}`);
    if (paddingOf(entry.size) > 0) yield Buffer.alloc(paddingOf(entry.size));
  }
  yield Buffer.alloc(2 * tarBlock);
}
