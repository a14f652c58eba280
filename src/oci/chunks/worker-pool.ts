// Hands work to worker threads and brings their answers back. A pool without threads does the work where it
// is called, which is quicker for small disks.
import { Worker } from 'node:worker_threads';
import { type ErrorRecord, errorFromRecord, ImagoError } from '../../domain/error/imago-error.ts';
import { chunkJobs, type JobInput, type JobKind, type JobResult } from './chunk-jobs.ts';
import { hashDisk } from './disk-hash.ts';
import { DiskScan, type ScanBatch, type ScanInput } from './disk-scan.ts';

export type WorkerRequest = { readonly id: number } & (
  | { [K in JobKind]: { readonly kind: K; readonly input: JobInput<K> } }[JobKind]
  /** An input begins a scan; without one, the scan that was begun goes on. */
  | { readonly kind: 'scan'; readonly input: ScanInput | undefined }
  | { readonly kind: 'hash'; readonly input: ScanInput }
);

export type WorkerReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorRecord };

export interface ChunkPool {
  /** How many jobs make it busy; more wait in line. */
  readonly width: number;
  run<K extends JobKind>(kind: K, input: JobInput<K>): Promise<JobResult<K>>;
  /**
   * Stops the threads once they are idle. Jobs that are still in progress are abandoned, with
   * the threads that do them: nothing touches the caller's files afterwards. A second call does nothing.
   */
  close(): Promise<void>;
}

export interface RunningScan {
  /** The next batch; after the last there is none. One call at a time. */
  next(): Promise<ScanBatch>;
  close(): Promise<void>;
}

export interface RunningHash {
  /** The sha256 of the whole disk, in hex. */
  readonly sha256: Promise<string>;
  /** Abandons it if it is still in progress: nothing touches the caller's file afterwards. */
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
  const workers = Array.from({ length: threads }, takeThread);
  return {
    width: threads,
    async run<K extends JobKind>(kind: K, input: JobInput<K>) {
      const idlest = workers.reduce((best, worker) => (worker.pending < best.pending ? worker : best));
      return (await idlest.call({ kind, input } as Unnumbered)) as JobResult<K>;
    },
    close: async () => void (await Promise.all(workers.splice(0).map(giveBack))),
  };
}

export function openScan(input: ScanInput, inThread: boolean): RunningScan {
  if (!inThread) {
    const scan = new DiskScan(input);
    return { next: async () => scan.next(), close: async () => undefined };
  }
  const worker = takeThread();
  let first = true;
  let open = true;
  return {
    async next() {
      const request = { kind: 'scan', input: first ? input : undefined } as const;
      first = false;
      return (await worker.call(request)) as ScanBatch;
    },
    async close() {
      if (open) await giveBack(worker);
      open = false;
    },
  };
}

export function openHash(input: ScanInput, inThread: boolean): RunningHash {
  if (!inThread) {
    const sha256 = (async () => hashDisk(input))();
    sha256.catch(() => undefined);
    return { sha256, close: async () => undefined };
  }
  const worker = takeThread();
  const sha256 = worker.call({ kind: 'hash', input }) as Promise<string>;
  sha256.catch(() => undefined);
  let open = true;
  return {
    sha256,
    async close() {
      if (open) await giveBack(worker);
      open = false;
    },
  };
}

const idleMs = 3000;
const idle = new Map<WorkerThread, NodeJS.Timeout>();

/** Threads take a while to start: one that has just become free is used again. */
function takeThread(): WorkerThread {
  for (const [worker, timer] of idle) {
    clearTimeout(timer);
    idle.delete(worker);
    if (worker.usable) return worker;
  }
  return new WorkerThread();
}

async function giveBack(worker: WorkerThread): Promise<void> {
  if (worker.pending > 0 || !worker.usable) {
    await worker.close();
    return;
  }
  const end = () => {
    idle.delete(worker);
    void worker.close();
  };
  idle.set(worker, setTimeout(end, idleMs).unref());
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
    resourceLimits: { maxOldGenerationSizeMb: 64 },
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

  get usable(): boolean {
    return this.#failure === undefined;
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
    // It was given up; the thread must still be waited for, until it has ended.
    if (answer === undefined) return;
    this.#waiting.delete(reply.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ('error' in reply) answer.reject(errorFromRecord(reply.error));
    else answer.resolve(reply.result);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    for (const answer of this.#waiting.values()) answer.reject(this.#failure);
    this.#waiting.clear();
  }
}
