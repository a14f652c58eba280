// Hands work to worker threads and brings their answers back. A pool without threads does the work where it
// is called, which is quicker for small disks.
import { Worker } from 'node:worker_threads';
import { type ErrorRecord, errorFromRecord, ImagoError } from '../../domain/errors.ts';
import { chunkJobs, type JobInput, type JobKind, type JobResult } from './chunk-jobs.ts';
import { DiskScan, type ScanBatch, type ScanInput } from './disk-scan.ts';

export type WorkerRequest = { readonly id: number } & (
  | { [K in JobKind]: { readonly kind: K; readonly input: JobInput<K> } }[JobKind]
  | { readonly kind: 'scan'; readonly input: ScanInput }
);

export type WorkerReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorRecord };

export interface ChunkPool {
  /** How many jobs make it busy; more wait in line. */
  readonly width: number;
  run<K extends JobKind>(kind: K, input: JobInput<K>): Promise<JobResult<K>>;
  /** Ends the threads; jobs under way are given up and their promises reject. A second call does nothing. */
  close(): Promise<void>;
}

export interface RunningScan {
  /** The next batch; after the one that has `sha256` there is none. One call at a time. */
  next(): Promise<ScanBatch>;
  close(): Promise<void>;
}

export function openChunkPool(threads: number): ChunkPool {
  if (threads === 0) {
    return {
      width: 1,
      run: async (kind, input) => runHere(kind, input),
      close: async () => undefined,
    };
  }
  const workers = Array.from({ length: threads }, () => new WorkerThread());
  return {
    width: threads,
    async run<K extends JobKind>(kind: K, input: JobInput<K>) {
      const idlest = workers.reduce((best, worker) => (worker.pending < best.pending ? worker : best));
      return (await idlest.call({ kind, input } as Unnumbered)) as JobResult<K>;
    },
    close: async () => void (await Promise.all(workers.map((worker) => worker.close()))),
  };
}

export function openScan(input: ScanInput, inThread: boolean): RunningScan {
  if (!inThread) {
    const scan = new DiskScan(input);
    return { next: async () => scan.next(), close: async () => undefined };
  }
  const worker = new WorkerThread();
  return {
    next: async () => (await worker.call({ kind: 'scan', input })) as ScanBatch,
    close: () => worker.close(),
  };
}

function runHere<K extends JobKind>(kind: K, input: JobInput<K>): JobResult<K> {
  const job = chunkJobs[kind] as (input: JobInput<K>) => JobResult<K>;
  return job(input);
}

type Unnumbered = WorkerRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

/** Beside this file in the source tree; a bundler must put it beside the bundle. */
function workerFile(): URL {
  return new URL(
    import.meta.url.endsWith('.ts') ? './store-worker.ts' : './store-worker.js',
    import.meta.url,
  );
}

class WorkerThread {
  readonly #worker = new Worker(workerFile(), {
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 },
  });
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 0;
  #failure: unknown;

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', (reply: WorkerReply) => this.#settle(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () =>
      this.#fail(new ImagoError('internal', 'a worker thread of the store ended')),
    );
  }

  get pending(): number {
    return this.#waiting.size;
  }

  async call(request: Unnumbered): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure;
    const id = this.#next++;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#worker.ref();
    this.#worker.postMessage({ ...request, id });
    return answer.promise;
  }

  async close(): Promise<void> {
    this.#fail(new ImagoError('cancelled', 'the work on the store was stopped'));
    await this.#worker.terminate();
  }

  #settle(reply: WorkerReply): void {
    const answer = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ('error' in reply) answer?.reject(errorFromRecord(reply.error));
    else answer?.resolve(reply.result);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const answer of this.#waiting.values()) answer.reject(this.#failure);
    this.#waiting.clear();
  }
}
