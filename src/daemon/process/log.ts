// Writes the daemon log: JSON lines in a file that is rotated by size. Lines are written synchronously, so that the last
// one before a crash is present. A log that cannot be written, as on a full disk, never stops the daemon.
import {
  closeSync,
  copyFileSync,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { ensureImagoError } from '../../domain/error/imago-error.ts';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `error` in the fields is written with its code, cause, and stack. */
  error(message: string, fields?: LogFields): void;
}

export interface LogFileOptions {
  readonly maxBytes?: number;
  /** Number of rotated files to keep: `PATH.1` is the newest. */
  readonly keep?: number;
  /** Also called with each line; the foreground daemon prints them. */
  readonly tee?: (line: string) => void;
}

const DEFAULT_MAX_BYTES = 5 * 1024 * 1024;
const DEFAULT_KEEP = 3;

export function openLog(path: string, options: LogFileOptions = {}): Log {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const keep = options.keep ?? DEFAULT_KEEP;
  let file: number | undefined;
  let size = 0;

  function open(): number {
    const opened = openSync(path, 'a', 0o600);
    size = fstatSync(opened).size;
    return opened;
  }

  function append(line: string): void {
    try {
      file ??= open();
      if (size > 0 && size + line.length > maxBytes) {
        closeSync(file);
        file = undefined;
        shiftFiles(path, keep);
        file = open();
      }
      size += writeSync(file, line);
    } catch {
      // The next line tries again.
    }
  }

  function write(level: string, message: string, fields: LogFields = {}): void {
    const entry = { at: new Date().toISOString(), level, message, pid: process.pid, ...describe(fields) };
    const line = `${JSON.stringify(entry)}\n`;
    append(line);
    options.tee?.(line);
  }

  return {
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  };
}

/**
 * Rotates a file that another process has open for appending: copies its content and truncates it. A line written in
 * between can be lost. Ignores missing files and full disks.
 */
export function rotateByCopy(path: string, maxBytes = DEFAULT_MAX_BYTES, keep = DEFAULT_KEEP): void {
  try {
    if (statSync(path).size <= maxBytes) return;
    shiftFiles(path, keep, (from, to) => copyFileSync(from, to));
    truncateSync(path);
  } catch {
    // The next call tries again.
  }
}

function shiftFiles(
  path: string,
  keep: number,
  moveNewest = renameSync as (from: string, to: string) => void,
) {
  rmSync(`${path}.${keep}`, { force: true });
  for (let n = keep - 1; n >= 1; n -= 1) {
    if (statSync(`${path}.${n}`, { throwIfNoEntry: false })) renameSync(`${path}.${n}`, `${path}.${n + 1}`);
  }
  moveNewest(path, `${path}.1`);
}

function describe(fields: LogFields): LogFields {
  if (!('error' in fields)) return fields;
  const error = ensureImagoError(fields.error);
  const root = error.cause instanceof Error ? error.cause : error;
  return { ...fields, error: { ...error.toRecord(), stack: root.stack } };
}
