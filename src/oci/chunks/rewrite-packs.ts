// Gives the chunks of packs that are no longer worth referring to (see pack-reuse.ts) a place in new packs.
// They are taken from the disk that is being stored, not from the old pack: so they are known to be good.
import type { ChunkIndex, ChunkRef } from './chunk-index.ts';
import { RunCollector } from './disk-index.ts';
import type { EncodeQueue, NewChunk } from './encode-queue.ts';
import type { PackSink } from './pack-sink.ts';

const chunksOfBatch = 64;

/** The runs of the disk as they are once no chunk of the packs in `leave` is used. */
export async function rewritePacks(
  runs: RunCollector,
  leave: ReadonlySet<number>,
  chunkIndex: ChunkIndex,
  sink: PackSink,
  queue: EncodeQueue,
): Promise<RunCollector> {
  const kept = new RunCollector();
  const moved = new Map<number, Map<number, ChunkRef>>();
  let batch: NewChunk[] = [];
  let offset = 0;
  for (const run of runs.runs) {
    offset += run.hole;
    const table = chunkIndex.packs[run.pack]?.table;
    if (!leave.has(run.pack) || table === undefined) {
      kept.add(offset, run.bytes, run.pack, run.first, run.count);
      offset += run.bytes;
      continue;
    }
    const places = moved.get(run.pack) ?? new Map<number, ChunkRef>();
    moved.set(run.pack, places);
    for (let index = run.first; index < run.first + run.count; index += 1) {
      const hash = table.hash(index);
      const length = table.length(index);
      let place = places.get(index);
      if (place === undefined) {
        place = sink.allocate(hash, 0, length);
        places.set(index, place);
        batch.push({ ref: place, offset, length, hash });
      }
      kept.add(offset, length, place.pack, place.index);
      offset += length;
    }
    if (batch.length < chunksOfBatch) continue;
    await queue.add(batch);
    batch = [];
  }
  await queue.add(batch);
  return kept;
}
