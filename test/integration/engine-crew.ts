// Starts, watches and kills engine workers, and reads what they left in their ledger.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { until } from '../support/until.ts';
import { stepNames, type WorkerOptions } from './engine-worker.ts';

export interface Worker {
  readonly process: ChildProcess;
  /** Resolves when the worker has said that. */
  said(word: string): Promise<void>;
  /** Resolves when the ledger has so many lines. */
  wrote(lines: number): Promise<void>;
  kill(): Promise<void>;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** The operation's record, when the worker saw its end. */
  record(): OperationRecord | undefined;
  errors(): string;
}

const program = join(import.meta.dirname, 'engine-worker.ts');
const living = new Set<ChildProcess>();

export function startWorker(options: WorkerOptions): Worker {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => {
      living.delete(child);
      resolve(signal ?? code ?? -1);
    });
  });
  async function untilOrEnded(what: string, condition: () => boolean): Promise<void> {
    await until(what, () => condition() || !living.has(child));
    if (!condition()) throw new Error(`The worker ended too early:\n${errors}`);
  }

  return {
    process: child,
    ended,
    said: (word) => untilOrEnded(`the worker says ${word}`, () => output.includes(word)),
    wrote: (lines) =>
      untilOrEnded(`the ledger has ${lines} lines`, () => readLedger(options.ledger).length >= lines),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    record() {
      const line = output.split('\n').find((one) => one.startsWith('{'));
      return line === undefined ? undefined : (JSON.parse(line) as OperationRecord);
    },
    errors: () => errors,
  };
}

/** Whatever a failed test left running. */
export async function killAllWorkers(): Promise<void> {
  for (const child of living) child.kill('SIGKILL');
  await until('the workers are gone', () => living.size === 0);
}

export interface LedgerLine {
  readonly act: string;
  readonly step: string;
  readonly pid: number;
}

export function readLedger(path: string): readonly LedgerLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [act = '', step = '', pid] = line.split(' ');
    return { act, step, pid: Number(pid) };
  });
}

/** What is wrong with a ledger of one operation that was killed so many times; empty when nothing is. */
export function ledgerFaults(lines: readonly LedgerLine[], kills: number): readonly string[] {
  const faults: string[] = [];
  let furthest = -1;
  for (const { act, step } of lines) {
    const place = stepNames.indexOf(step);
    if (place < furthest) faults.push(`${step} ran again (${act}) after ${stepNames[furthest]} had begun`);
    furthest = Math.max(furthest, place);
  }
  for (const step of stepNames) {
    if (!lines.some((line) => line.act === 'do' && line.step === step)) faults.push(`${step} was lost`);
  }
  const begins = lines.filter((line) => line.act === 'begin').length;
  if (begins > stepNames.length + kills) faults.push(`${begins} beginnings after ${kills} kills`);
  return faults;
}
