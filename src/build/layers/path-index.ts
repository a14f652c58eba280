// What a stack of layers adds up to, by path: enough to tell whether a file above them is the same as below.
import { open } from 'node:fs/promises';
import { openFileSource, readFully } from '../../disk/bytes/byte-source.ts';
import type { TarEntry } from '../../disk/tar/entry.ts';
import { sourceInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { ownLayerRules } from './own-layers.ts';

interface Found {
  readonly entry: TarEntry;
  readonly archive: string;
  readonly offset: number;
}

const whiteout = '.wh.';
const opaque = '.wh..wh..opq';

export class LayerIndex {
  readonly #found = new Map<string, Found>();

  /** Lays an archive that Imago wrote over what is there. */
  async add(archive: string, signal?: AbortSignal): Promise<void> {
    const source = await openFileSource(archive);
    try {
      const added: Found[] = [];
      for await (const { entry, offset } of readTar(sourceInput(source), ownLayerRules)) {
        signal?.throwIfAborted();
        const at = entry.path.lastIndexOf('/') + 1;
        const name = entry.path.slice(at);
        if (name === opaque) this.#removeBelow(entry.path.slice(0, at));
        else if (name.startsWith(whiteout))
          this.#remove(entry.path.slice(0, at) + name.slice(whiteout.length));
        else added.push({ entry, archive, offset });
      }
      for (const found of added) this.#found.set(found.entry.path, found);
    } finally {
      await source.close();
    }
  }

  paths(): IterableIterator<string> {
    return this.#found.keys();
  }

  /** Whether the entry is there, with nothing but perhaps its content another one. */
  hasLike(entry: TarEntry): boolean {
    const below = this.#found.get(entry.path)?.entry;
    if (below === undefined || entry.type === 'hardlink') return false;
    const same = (['type', 'mode', 'uid', 'gid', 'mtime', 'size', 'link'] as const).every(
      (key) => below[key] === entry[key],
    );
    return same && capability(below) === capability(entry);
  }

  async hasContent(path: string, content: Buffer): Promise<boolean> {
    const found = this.#found.get(path);
    if (found === undefined || found.entry.size !== content.length) return false;
    const handle = await open(found.archive, 'r');
    try {
      return (await readFully(handle, found.offset, Buffer.allocUnsafe(content.length))).equals(content);
    } finally {
      await handle.close();
    }
  }

  #remove(path: string): void {
    this.#found.delete(path);
    this.#removeBelow(`${path}/`);
  }

  #removeBelow(prefix: string): void {
    for (const path of this.#found.keys()) if (path.startsWith(prefix)) this.#found.delete(path);
  }
}

function capability({ xattrs }: TarEntry): string | undefined {
  return xattrs.get('security.capability')?.toString('hex');
}
