// Writes an operation's record while it runs, without delaying a step: changes are gathered while a write is in progress,
// all of them wait a moment for more, and only `flush` waits for the disk.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Journal, OperationChange, Progress, StepChange } from '../../ports/workflow/operation.ts';

export interface Scribe {
  operation(change: OperationChange): void;
  step(name: string, change: StepChange): void;
  progress(progress: Progress): void;
  log(line: string): void;
  /** Returns when all changes so far are safe on disk. Throws if they could not be written. */
  flush(): Promise<void>;
}

export interface ScribeOptions {
  readonly journal: Pick<Journal, 'update' | 'log'>;
  readonly id: string;
  readonly clock: Clock;
  /** Nothing is written in the background once this is aborted. */
  readonly signal: AbortSignal;
}

interface Gathered {
  operation: OperationChange | undefined;
  steps: Map<string, StepChange>;
  lines: string[];
  linesAt: number;
  dropped: number;
}

/** Quick steps are written several at a time. */
const soonMs = 40;
const throttleMs = 250;
const afterErrorMs = 1_000;
const maxLines = 500;
const maxLineLength = 4_000;
/** The most that one run of an operation can store. Each line costs more than its length, as its row does. */
const maxLogBytes = 16 * 1024 ** 2;
const lineCost = 64;
const logFull = '(The log exceeds 16 MiB. Further lines are omitted.)';

export function createScribe({ journal, id, clock, signal }: ScribeOptions): Scribe {
  let gathered = nothing();
  let writing: Promise<void> = Promise.resolve();
  let logged = 0;
  let planned: 'no' | 'later' | 'soon' = 'no';

  function plan(when: 'later' | 'soon', delayMs = when === 'soon' ? soonMs : throttleMs): void {
    if (signal.aborted || planned === 'soon' || planned === when) return;
    planned = when;
    void writeInBackground(when, delayMs);
  }

  async function writeInBackground(when: 'later' | 'soon', delayMs: number): Promise<void> {
    await clock.sleep(delayMs, signal).catch(() => undefined);
    await writing;
    if (planned !== when || signal.aborted) return;
    planned = 'no';
    await write(false).catch((error) => {
      if (!isStale(error)) plan('later', afterErrorMs);
    });
  }

  function write(durable: boolean): Promise<void> {
    const turn = writing.then(() => writeGathered(durable));
    writing = turn.catch(() => undefined);
    return turn;
  }

  async function writeGathered(durable: boolean): Promise<void> {
    const taken = gathered;
    gathered = nothing();
    try {
      if (taken.lines.length > 0) await journal.log(id, taken.linesAt, linesOf(taken));
      taken.lines = [];
      if (taken.operation === undefined && taken.steps.size === 0) return;
      await journal.update(id, { ...taken.operation, steps: Object.fromEntries(taken.steps) }, { durable });
    } catch (error) {
      gathered = together(taken, gathered);
      throw error;
    }
  }

  return {
    operation(change) {
      gathered.operation = { ...gathered.operation, ...change };
      plan('soon');
    },
    step(name, change) {
      gathered.steps.set(name, { ...gathered.steps.get(name), ...change });
      plan('soon');
    },
    progress(progress) {
      gathered.operation = { ...gathered.operation, progress };
      plan('later');
    },
    log(line) {
      if (logged > maxLogBytes) return;
      if (gathered.lines.length === 0) gathered.linesAt = clock.now();
      const text = line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line;
      logged += Buffer.byteLength(text) + lineCost;
      gathered.lines.push(logged > maxLogBytes ? logFull : text);
      if (gathered.lines.length > maxLines) {
        gathered.lines.shift();
        gathered.dropped += 1;
      }
      plan('later');
    },
    flush: () => write(true),
  };
}

function nothing(): Gathered {
  return { operation: undefined, steps: new Map(), lines: [], linesAt: 0, dropped: 0 };
}

function linesOf({ lines, dropped }: Gathered): string[] {
  return dropped === 0 ? lines : [`(${dropped} lines omitted)`, ...lines];
}

function together(older: Gathered, newer: Gathered): Gathered {
  const steps = new Map(older.steps);
  for (const [name, change] of newer.steps) steps.set(name, { ...steps.get(name), ...change });
  const lines = [...older.lines, ...newer.lines];
  return {
    operation: older.operation || newer.operation ? { ...older.operation, ...newer.operation } : undefined,
    steps,
    lines: lines.slice(-maxLines),
    linesAt: older.lines.length > 0 ? older.linesAt : newer.linesAt,
    dropped: older.dropped + newer.dropped + Math.max(0, lines.length - maxLines),
  };
}

function isStale(error: unknown): boolean {
  return error instanceof ImagoError && error.code === 'owner-stale';
}
