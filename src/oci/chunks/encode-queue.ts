// Chunks on their way into packs: gathered into frames, compressed by several threads, written in the
// order they came.
import type { ChunkIndex, ChunkRef } from './chunk-index.ts';
import { type EncodeResult, free } from './chunk-jobs.ts';
import type { FrameRef, PackSink } from './pack-sink.ts';
import type { ChunkPool } from './worker-pool.ts';

export interface NewChunk {
  readonly ref: ChunkRef;
  /** Where it lies on the disk. */
  readonly offset: number;
  readonly length: number;
  readonly hash: Uint8Array;
}

interface Frame {
  readonly ref: FrameRef;
  readonly chunks: NewChunk[];
}

const jobsPerThread = 2;
const framesOfJob = 4;

export class EncodeQueue {
  readonly #fd: number;
  readonly #pool: ChunkPool;
  readonly #sink: PackSink;
  readonly #chunkIndex: ChunkIndex;
  readonly #jobs: { readonly frames: readonly FrameRef[]; readonly encoded: Promise<EncodeResult> }[] = [];
  #frames: Frame[] = [];

  constructor(fd: number, pool: ChunkPool, sink: PackSink, chunkIndex: ChunkIndex) {
    this.#fd = fd;
    this.#pool = pool;
    this.#sink = sink;
    this.#chunkIndex = chunkIndex;
  }

  /** Takes chunks as they were allocated; waits while too many are in progress, which bounds the memory in use. */
  async add(chunks: readonly NewChunk[]): Promise<void> {
    for (const chunk of chunks) {
      const { pack, index } = chunk.ref;
      const frame = this.#chunkIndex.packs[pack]?.table.frameOf(index) ?? 0;
      const open = this.#frames.at(-1);
      if (open?.ref.pack === pack && open.ref.frame === frame) {
        open.chunks.push(chunk);
        continue;
      }
      if (this.#frames.length === framesOfJob) this.#start();
      this.#frames.push({ ref: { pack, frame }, chunks: [chunk] });
    }
    await this.#drainTo(this.#pool.width * jobsPerThread);
  }

  /** Closes the last frame and waits for all. */
  async drain(): Promise<void> {
    this.#start();
    await this.#drainTo(0);
  }

  #start(): void {
    const frames = this.#frames;
    if (frames.length === 0) return;
    this.#frames = [];
    const chunks = frames.flatMap((frame) => frame.chunks);
    const hashes = new Uint8Array(chunks.length * 32);
    for (const [number, chunk] of chunks.entries()) hashes.set(chunk.hash, number * 32);
    const encoded = this.#pool.run('encode', {
      fd: this.#fd,
      offsets: Float64Array.from(chunks, (chunk) => chunk.offset),
      lengths: Uint32Array.from(chunks, (chunk) => chunk.length),
      hashes,
      frames: Uint32Array.from(frames, (frame) => frame.chunks.length),
    });
    encoded.catch(() => undefined);
    this.#jobs.push({ frames: frames.map((frame) => frame.ref), encoded });
  }

  async #drainTo(limit: number): Promise<void> {
    while (this.#jobs.length > limit) {
      const job = this.#jobs.shift();
      if (job === undefined) return;
      const encoded = await job.encoded;
      await this.#sink.append(job.frames, encoded);
      free(encoded.stored);
    }
  }
}
