// The layers of a container image as the overlay snapshots that containerd makes of them: each layer's own files,
// whiteouts as devices, opaque folders by an attribute.
import { createHash, type Hash } from 'node:crypto';
import type { TarEntry } from '../../disk/tar/entry.ts';
import { streamInput } from '../../disk/tar/input.ts';
import { readTar, type TarReadOptions } from '../../disk/tar/reader.ts';
import { type TarItem, tarEntry } from '../../disk/tar/writer.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { unpack } from '../inputs/unpack.ts';

const rules = {
  maxEntries: 2_000_000,
  maxBytes: 256 * 1024 ** 3,
  absolute: 'strip',
  devices: 'allow',
  symlinks: 'any',
} as const satisfies TarReadOptions;

export interface SnapshotUsage {
  /** As du counts them. */
  inodes: number;
  bytes: number;
}

const block = 4096;
const opaqueMark = '.wh..wh..opq';

export interface SnapshotLayer {
  /** As it is stored, perhaps compressed. */
  readonly content: AsyncIterable<Uint8Array>;
  /** What the image's config says that it is without compression. */
  readonly diff: string;
  /** Where its files go in the archive. */
  readonly folder: string;
  readonly epoch: number;
  /** What they take up is added here. */
  readonly usage: SnapshotUsage;
  /** The folders of the layers below by their path, to which those of this one are added. */
  readonly folders: Map<string, TarEntry>;
}

/** The entries of one layer. `input-mismatch` when its content is not what the image's config says. */
export async function* snapshotEntries(layer: SnapshotLayer): AsyncGenerator<TarItem> {
  const { folder, epoch, usage } = layer;
  const hash = createHash('sha256');
  const input = streamInput(hashed(unpack(layer.content), hash));
  const opaque: string[] = [];
  const shown = new Set<string>(['']);
  // A folder that only a layer below has must look the same in this one, or its owner would be lost.
  function* foldersAbove(path: string): Generator<TarItem> {
    if (shown.has(path)) return;
    shown.add(path);
    yield* foldersAbove(parentOf(path));
    const below = layer.folders.get(path) ?? tarEntry(path, { type: 'directory', mtime: epoch });
    layer.folders.set(path, below);
    count(usage, block);
    yield { entry: placeEntry(below, folder, epoch) };
  }
  try {
    for await (const record of readTar(input, rules)) {
      const { entry } = record;
      if (entry.path === '') continue;
      const parent = parentOf(entry.path);
      const name = entry.path.slice(parent === '' ? 0 : parent.length + 1);
      if (name === opaqueMark) {
        opaque.push(parent);
        continue;
      }
      if (name.startsWith('.wh..wh.')) continue;
      yield* foldersAbove(parent);
      if (name.startsWith('.wh.')) {
        const path = `${parent}/${name.slice('.wh.'.length)}`;
        count(usage, 0);
        yield { entry: placeEntry(whiteout(path), folder, epoch) };
        continue;
      }
      count(usage, shown.has(entry.path) ? undefined : usedBytes(entry));
      if (entry.type === 'directory') {
        shown.add(entry.path);
        layer.folders.set(entry.path, entry);
      }
      const placed = placeEntry(entry, folder, epoch);
      yield entry.type === 'file' ? { entry: placed, content: record.content() } : { entry: placed };
    }
  } finally {
    await input.close();
  }
  if (`sha256:${hash.digest('hex')}` !== layer.diff) {
    throw new ImagoError(
      'input-mismatch',
      `A layer of a container image is not ${layer.diff}, as its config says.`,
    );
  }
  for (const path of opaque) {
    yield* foldersAbove(path);
    const entry = layer.folders.get(path) ?? tarEntry(path, { type: 'directory', mtime: epoch });
    const xattrs = new Map([...entry.xattrs, ['trusted.overlay.opaque', Buffer.from('y')] as const]);
    yield { entry: { ...placeEntry(entry, folder, epoch), xattrs } };
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function whiteout(path: string): TarEntry {
  return tarEntry(path.replace(/^\//, ''), { type: 'character', mode: 0, device: { major: 0, minor: 0 } });
}

async function* hashed(content: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
}

function placeEntry(entry: TarEntry, folder: string, epoch: number): TarEntry {
  const link = entry.type === 'hardlink' ? `${folder}/${entry.link}` : entry.link;
  if (entry.path.split('/').includes('..')) throw new ImagoError('tar-unsafe', `${entry.path} leads outside`);
  return { ...entry, path: `${folder}/${entry.path}`, link, mtime: Math.min(entry.mtime, epoch) };
}

function usedBytes({ type, size }: TarEntry): number | undefined {
  if (type === 'hardlink') return undefined;
  if (type === 'directory') return block;
  return type === 'file' ? Math.ceil(size / block) * block : 0;
}

function count(usage: SnapshotUsage, bytes: number | undefined): void {
  if (bytes === undefined) return;
  usage.inodes += 1;
  usage.bytes += bytes;
}
