// Layers that Imago itself has written: read without the limits that strangers' archives have.
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type OpenByteSource, openFileSource } from '../../disk/bytes/byte-source.ts';
import { type IndexedFile, indexLayer, mergeLayers } from '../../disk/tar/merge.ts';
import type { MergedTree } from '../../disk/tar/merged-tree.ts';
import type { TarReadOptions } from '../../disk/tar/reader.ts';
import { type TarItem, writeTar } from '../../disk/tar/writer.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { nameFileError } from '../../host/files/durable-files.ts';

export const ownLayerRules = {
  maxEntries: 4_000_000,
  maxBytes: 1024 ** 4,
  devices: 'allow',
} as const satisfies TarReadOptions;

interface FinishedLayer {
  readonly name: string;
  readonly path: string;
}

/** A build looks into the same layers twice, for the configuration and for the disk: their headers are read once. */
const indexes = new WeakMap<
  FinishedLayer,
  { readonly epoch: number; readonly files: readonly IndexedFile[] }
>();

/** Looks into finished layers, from the bottom up. */
export async function withTree<T>(
  layers: readonly FinishedLayer[],
  { lock, signal }: { readonly lock: Lock; readonly signal?: AbortSignal | undefined },
  work: (tree: MergedTree) => Promise<T>,
): Promise<T> {
  const options = { ...ownLayerRules, epoch: lock.epoch, signal };
  const sources: { name: string; source: OpenByteSource; index: readonly IndexedFile[] }[] = [];
  const opened: OpenByteSource[] = [];
  try {
    for (const layer of layers) {
      const source = await openFileSource(layer.path);
      opened.push(source);
      const known = indexes.get(layer);
      const index =
        known?.epoch === lock.epoch ? known.files : await indexLayer({ name: layer.name, source }, options);
      indexes.set(layer, { epoch: lock.epoch, files: index });
      sources.push({ name: layer.name, source, index });
    }
    return await work(await mergeLayers(sources, options));
  } finally {
    for (const source of opened) await source.close();
  }
}

export async function writeItems(
  items: Iterable<TarItem> | AsyncIterable<TarItem>,
  path: string,
): Promise<void> {
  try {
    await pipeline(batched(writeTar(items)), createWriteStream(path, { highWaterMark: 1 << 22 }));
  } catch (error) {
    throw nameFileError(error);
  }
}

const batchSize = 1 << 20;

/** In pieces that are worth a write each. */
async function* batched(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let batch = Buffer.allocUnsafe(batchSize);
  let used = 0;
  for await (const piece of pieces) {
    for (let done = 0; done < piece.length; ) {
      const copied = piece.copy(batch, used, done);
      done += copied;
      used += copied;
      if (used < batchSize) continue;
      yield batch;
      batch = Buffer.allocUnsafe(batchSize);
      used = 0;
    }
  }
  if (used > 0) yield batch.subarray(0, used);
}
