// The worker thread of the store: does jobs on chunks, scans one disk batch by batch, or hashes one.
import { parentPort } from 'node:worker_threads';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { chunkJobs } from './chunk-jobs.ts';
import { hashDisk } from './disk-hash.ts';
import { DiskScan, type ScanBatch, type ScanInput } from './disk-scan.ts';
import type { WorkerReply, WorkerRequest } from './worker-pool.ts';

if (parentPort === null) throw new Error('store-worker.ts runs only as a worker thread');
const port = parentPort;
let scan: DiskScan | undefined;

function work(request: WorkerRequest): unknown {
  switch (request.kind) {
    case 'encode':
      return chunkJobs.encode(request.input);
    case 'decode':
      return chunkJobs.decode(request.input);
    case 'check':
      return chunkJobs.check(request.input);
    case 'scan':
      return nextBatch(request.input);
    case 'hash':
      return hashDisk(request.input);
  }
}

function nextBatch(input: ScanInput | undefined): ScanBatch {
  if (input !== undefined) scan = new DiskScan(input);
  if (scan === undefined) throw new Error('no scan was begun');
  const batch = scan.next();
  if (batch.isLast) scan = undefined;
  return batch;
}

function buffersOf(result: unknown): ArrayBuffer[] {
  if (typeof result !== 'object' || result === null) return [];
  return Object.values(result).flatMap((value) =>
    ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
  );
}

port.on('message', (request: WorkerRequest) => {
  let reply: WorkerReply;
  try {
    reply = { id: request.id, result: work(request) };
  } catch (error) {
    reply = { id: request.id, error: ensureImagoError(error).toRecord() };
  }
  port.postMessage(reply, 'result' in reply ? buffersOf(reply.result) : []);
});
