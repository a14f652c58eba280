// Chunks on their way into packs: compressed by several threads at once, written in the order they came.
import type { ChunkRef } from './chunk-catalogue.ts';
import type { EncodeResult } from './chunk-jobs.ts';
import type { PackSink } from './pack-sink.ts';
import type { ChunkPool } from './worker-pool.ts';

export interface NewChunk {
  readonly ref: ChunkRef;
  /** Where it lies on the disk. */
  readonly offset: number;
  readonly length: number;
  readonly hash: Uint8Array;
}

const jobsPerThread = 2;

export class EncodeQueue {
  readonly #fd: number;
  readonly #pool: ChunkPool;
  readonly #sink: PackSink;
  readonly #jobs: { readonly refs: readonly ChunkRef[]; readonly encoded: Promise<EncodeResult> }[] = [];

  constructor(fd: number, pool: ChunkPool, sink: PackSink) {
    this.#fd = fd;
    this.#pool = pool;
    this.#sink = sink;
  }

  /** Takes a few MiB of chunks; waits while too many are under way, which bounds the memory in use. */
  async add(chunks: readonly NewChunk[]): Promise<void> {
    if (chunks.length === 0) return;
    const hashes = new Uint8Array(chunks.length * 32);
    for (const [number, chunk] of chunks.entries()) hashes.set(chunk.hash, number * 32);
    const encoded = this.#pool.run('encode', {
      fd: this.#fd,
      offsets: Float64Array.from(chunks, (chunk) => chunk.offset),
      lengths: Uint32Array.from(chunks, (chunk) => chunk.length),
      hashes,
    });
    encoded.catch(() => undefined);
    this.#jobs.push({ refs: chunks.map((chunk) => chunk.ref), encoded });
    await this.#drainTo(this.#pool.width * jobsPerThread);
  }

  async drain(): Promise<void> {
    await this.#drainTo(0);
  }

  async #drainTo(limit: number): Promise<void> {
    while (this.#jobs.length > limit) {
      const job = this.#jobs.shift();
      if (job !== undefined) await this.#sink.append(job.refs, await job.encoded);
    }
  }
}
