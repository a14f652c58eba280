// Reads the reports of a machine, which QEMU appends to a file: the last complete line is valid. The agent repeats itself, so
// a long file is truncated, and noise on the port is ignored. The time of the file is the time of the report, so that a
// daemon that reads it later does not take old reports for new ones.
import { open, stat, truncate } from 'node:fs/promises';
import { readNodeReport } from '../../../domain/node/report.ts';
import { latestKernelStart } from '../../../domain/node/timeline.ts';
import type { MachineReportLine } from './machine-host.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_LINE = 256 * 1024;

export interface ReportLog {
  readonly last: MachineReportLine | undefined;
  /** Reads new lines. Returns the latest report if there is a new line, even a repeated one. */
  read(): Promise<MachineReportLine | undefined>;
  /** Deletes all reports so far, here and in the file. */
  clear(): Promise<void>;
}

export function openReportLog(path: string): ReportLog {
  let offset = 0;
  let rest = Buffer.alloc(0);
  let last: MachineReportLine | undefined;

  function take(line: string, receivedAt: string): boolean {
    if (line === '' || line.length > MAX_LINE) return false;
    const document = readNodeReport(line);
    if (document === undefined) return false;
    const sameBoot = last?.document.bootId === document.bootId;
    const kernelAt = Math.min(latestKernelStart(document), sameBoot && last ? last.kernelAt : Infinity);
    last = { phase: document.phase, at: document.at, document, kernelAt, receivedAt };
    return true;
  }

  async function readNew(): Promise<{ readonly text: Buffer; readonly at: string }> {
    const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
    const at = new Date(mtimeMs).toISOString();
    if (size < offset) {
      offset = 0;
      rest = Buffer.alloc(0);
    }
    if (size === offset) return { text: Buffer.alloc(0), at };
    const from = Math.max(offset, size - MAX_BYTES);
    const file = await open(path, 'r');
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
      offset = from + bytesRead;
      return { text: buffer.subarray(0, bytesRead), at };
    } finally {
      await file.close();
    }
  }

  async function readOnce(): Promise<MachineReportLine | undefined> {
    const { text: added, at } = await readNew();
    const text = Buffer.concat([rest, added]);
    const end = text.lastIndexOf('\n');
    const lines = end < 0 ? [] : text.subarray(0, end).toString('utf8').split('\n');
    rest = Buffer.from(text.subarray(end + 1));
    if (rest.length > MAX_LINE) rest = Buffer.alloc(0);
    const spoke = lines.map((line) => take(line.trim(), at)).some(Boolean);
    if (offset > MAX_BYTES && rest.length === 0) {
      await truncate(path, 0);
      offset = 0;
    }
    return spoke ? last : undefined;
  }

  async function clearOnce(): Promise<void> {
    last = undefined;
    rest = Buffer.alloc(0);
    offset = 0;
    await truncate(path, 0);
  }

  let before: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = before.catch(() => undefined).then(work);
    before = turn;
    return turn;
  }

  return {
    get last() {
      return last;
    },
    read: () => inTurn(readOnce),
    clear: () => inTurn(clearOnce),
  };
}
