// What a run in the sandbox can use at most. The kernel limits each process and their number; the disk and the time
// are watched from outside.
import { statfs } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';

export interface SandboxLimits {
  /** Of all users of the sandbox together. */
  readonly processes: number;
  /** Address space of one process. */
  readonly memoryBytes: number;
  /** Memory of all processes together, where the run has a control group. */
  readonly allMemoryBytes: number;
  /** Size of each file system in memory, such as /tmp. */
  readonly memoryDiskBytes: number;
  /** What one run can write to its folder. */
  readonly diskBytes: number;
  /**
   * What its file system can lose beyond that: deleted files that are still open are in no directory. Other programs on
   * the file system count too.
   */
  readonly hiddenBytes: number;
  readonly files: number;
  /** What one run can print. */
  readonly outputBytes: number;
  readonly timeMs: number;
}

export const defaultLimits: SandboxLimits = {
  processes: 2048,
  memoryBytes: 4 * 1024 ** 3,
  allMemoryBytes: 8 * 1024 ** 3,
  memoryDiskBytes: 512 * 1024 ** 2,
  diskBytes: 16 * 1024 ** 3,
  hiddenBytes: 16 * 1024 ** 3,
  files: 2_000_000,
  outputBytes: 64 * 1024 ** 2,
  timeMs: 2 * 60 * 60 * 1000,
};

/** A run can use this part of the free space at most: the rest stays free, regardless of the limits. */
const usableShare = 0.9;
const intervalMs = 100;
const measureMs = 1000;
/** Measuring takes at most a twentieth of the time. */
const restFactor = 20;
const maxFailures = 3;

export interface Usage {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Calls `stop` once a run is over its limits or can no longer be measured. The free space of the file system is read all
 * the time: it shows what no directory does, such as deleted files that are open. Measuring the directory takes a while:
 * it is done periodically, and immediately if the free space that was lost could exceed a limit.
 */
export function watchLimits(
  what: string,
  limits: SandboxLimits,
  disk: { readonly folder: string; readonly measure: () => Promise<Usage> } | undefined,
  stop: (why: ImagoError) => void,
): { end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const late = setTimeout(() => {
    const minutes = Math.round(limits.timeMs / 60_000);
    give('build-failed', `${what} took longer than ${minutes} minutes and was stopped.`);
  }, limits.timeMs);

  function end(): void {
    ended = true;
    clearTimeout(late);
    clearTimeout(timer);
  }

  function give(code: 'build-failed' | 'no-space', message: string, cause?: unknown): void {
    if (ended) return;
    end();
    stop(new ImagoError(code, message, { cause }));
  }

  async function watch(folder: string, measure: () => Promise<Usage>): Promise<void> {
    const start = await freeSpace(folder);
    const most = Math.min(limits.diskBytes, start.bytes * usableShare);
    let seen: Usage = { bytes: 0, files: 0 };
    let lostThen = 0;
    let next = Date.now() + measureMs;
    let measuring = false;
    let failures = 0;

    function judge(lost: Usage): void {
      if (seen.bytes > most) {
        const code = most < limits.diskBytes ? 'no-space' : 'build-failed';
        give(code, `${what} wrote more than ${formatBytes(Math.floor(most))} and was stopped.`);
      } else if (seen.files > limits.files) {
        give('build-failed', `${what} wrote more than ${limits.files} files and was stopped.`);
      } else if (lost.bytes - seen.bytes > limits.hiddenBytes || lost.files - seen.files > limits.files) {
        const limit = lost.files - seen.files > limits.files ? `${limits.files} inodes` : undefined;
        const space = limit ?? `${formatBytes(limits.hiddenBytes)} of free space`;
        give(
          'build-failed',
          `${what} was stopped: the file system lost more than ${space} to files that its directory does not show.`,
        );
      }
    }

    async function look(lost: Usage): Promise<void> {
      const begun = Date.now();
      try {
        seen = await measure();
        lostThen = lost.bytes;
        failures = 0;
        next = Date.now() + Math.max(measureMs, restFactor * (Date.now() - begun));
        judge(lost);
      } catch (cause) {
        failures += 1;
        next = Date.now() + measureMs;
        if (failures < maxFailures) return;
        give('build-failed', `The disk use of ${what} could not be measured, so it was stopped.`, cause);
      } finally {
        measuring = false;
      }
    }

    while (!ended) {
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, intervalMs);
      });
      const now = await freeSpace(folder);
      const lost = { bytes: start.bytes - now.bytes, files: start.files - now.files };
      if (lost.bytes > start.bytes * usableShare) {
        give('no-space', `${what} was stopped, because the file system is almost full.`);
      }
      // Whatever the directory holds, one of the two limits is exceeded.
      if (lost.bytes > most + limits.hiddenBytes || lost.files > 2 * limits.files) judge(lost);
      const grown = lost.bytes - lostThen > most - seen.bytes;
      const hidden = lost.bytes - seen.bytes > limits.hiddenBytes;
      if (ended || measuring || !(grown || hidden || Date.now() >= next)) continue;
      measuring = true;
      void look(lost);
    }
  }

  if (disk !== undefined) {
    watch(disk.folder, disk.measure).catch((cause) =>
      give('build-failed', `The disk use of ${what} could not be measured, so it was stopped.`, cause),
    );
  }
  return { end };
}

/** Inodes are counted below zero: where a file system makes them as it needs them, how many are free says nothing. */
async function freeSpace(folder: string): Promise<Usage> {
  const { bavail, bsize, files, ffree } = await statfs(folder);
  return { bytes: bavail * bsize, files: ffree - files };
}
