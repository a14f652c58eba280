// A machine's reports, which QEMU appends to a file: the last whole line counts. The agent repeats itself, so
// the file is cut when it has grown, and noise on the port is passed over.
import { open, stat, truncate } from 'node:fs/promises';
import { readNodeReport } from '../../../domain/node-report.ts';
import { latestKernelStart } from '../../../domain/timeline.ts';
import type { MachineReportLine } from './machine-host.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_LINE = 256 * 1024;

export interface ReportLog {
  readonly last: MachineReportLine | undefined;
  /** Reads what is new. Gives the newest report when it says something else than the one before. */
  read(): Promise<MachineReportLine | undefined>;
}

export function openReportLog(path: string, now: () => string): ReportLog {
  let offset = 0;
  let rest = Buffer.alloc(0);
  let lastLine = '';
  let last: MachineReportLine | undefined;

  function take(line: string): boolean {
    if (line === '' || line.length > MAX_LINE) return false;
    const document = readNodeReport(line);
    if (document === undefined) return false;
    const changed = line !== lastLine;
    lastLine = line;
    const sameBoot = last?.document.bootId === document.bootId;
    const kernelAt = Math.min(latestKernelStart(document), sameBoot && last ? last.kernelAt : Infinity);
    last = { phase: document.phase, at: document.at, document, kernelAt, receivedAt: now() };
    return changed;
  }

  async function readNew(): Promise<Buffer> {
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    );
    if (size < offset) {
      offset = 0;
      rest = Buffer.alloc(0);
    }
    if (size === offset) return Buffer.alloc(0);
    const from = Math.max(offset, size - MAX_BYTES);
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      offset = from + bytesRead;
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  async function readOnce(): Promise<MachineReportLine | undefined> {
    const text = Buffer.concat([rest, await readNew()]);
    const end = text.lastIndexOf('\n');
    const lines = end < 0 ? [] : text.subarray(0, end).toString('utf8').split('\n');
    rest = Buffer.from(text.subarray(end + 1));
    if (rest.length > MAX_LINE) rest = Buffer.alloc(0);
    const changed = lines.map((line) => take(line.trim())).some(Boolean);
    if (offset > MAX_BYTES && rest.length === 0) {
      await truncate(path, 0);
      offset = 0;
    }
    return changed ? last : undefined;
  }

  let reading: Promise<MachineReportLine | undefined> = Promise.resolve(undefined);
  return {
    get last() {
      return last;
    },
    read() {
      reading = reading.catch(() => undefined).then(readOnce);
      return reading;
    },
  };
}
