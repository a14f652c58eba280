// How the daemon's process ends: stopped for good, or begun again in place. Beginning again replaces the
// whole program but keeps the pid, so that after a lost lease or database no stale step, timer or
// connection can go on; it is the one way back from every state that should not be.
import { existsSync } from 'node:fs';
import { type ErrorRecord, ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Log } from './log.ts';

export interface CleanUp {
  readonly name: string;
  readonly deadlineMs: number;
  readonly run: (options: StopOptions) => Promise<void> | void;
}

export interface StopOptions {
  /** Also stop the embedded PostgreSQL. */
  readonly database: boolean;
  /** Of the process; 0 unless it stops because something failed. */
  readonly exitCode?: number;
}

export interface Lifecycle {
  /** Aborted when the process begins to end, one way or the other. */
  readonly ending: AbortSignal;
  /** A stop first waits for this to end one way or the other: what is being started can then be stopped. */
  hold(starting: Promise<unknown>): void;
  /** Run at a stop, the last one added first. A step that fails or hangs is logged and passed over. */
  onStop(step: CleanUp): void;
  /** Runs all clean-up steps and exits. A second call can only add `database`. */
  stop(options: StopOptions): void;
  /** Begins again in place, without cleaning up: what matters survives a crash, and this is one. */
  restart(reason: string, error?: unknown): void;
}

export interface Restarts {
  /** How many restarts there were with no quiet minute in between. */
  readonly count: number;
  readonly at: number;
}

export interface LifecycleOptions {
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  /** Called when a restart waits, so that callers are told why. */
  readonly onWaiting?: (reason: ErrorRecord) => void;
  readonly exit?: (code: number) => void;
  readonly replace?: (env: NodeJS.ProcessEnv) => void;
}

const QUIET_MS = 60_000;
const LONGEST_PAUSE_MS = 10_000;
/** Time for steps to notice that they were aborted, and to end what they started. */
const ABORT_GRACE_MS = 200;
const START_PATIENCE_MS = 20_000;

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { log, env } = options;
  const exit = options.exit ?? ((code) => process.exit(code));
  const replace = options.replace ?? replaceProcess;
  const ending = new AbortController();
  const steps: CleanUp[] = [];
  let state: 'running' | 'stopping' | 'restarting' = 'running';
  let database = false;
  let held: Promise<unknown> = Promise.resolve();

  async function attempt(name: string, deadlineMs: number, work: () => Promise<unknown>): Promise<void> {
    try {
      await withDeadline(deadlineMs, work);
    } catch (error) {
      log.error(`stopping: ${name} failed`, { error });
    }
  }

  async function cleanUp(exitCode: number): Promise<void> {
    await attempt('what was being started', START_PATIENCE_MS, () => held.catch(() => undefined));
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const { name, deadlineMs, run } = step;
      await attempt(name, deadlineMs, async () => run({ database }));
    }
    log.info('stopped');
    exit(exitCode);
  }

  return {
    ending: ending.signal,
    hold(starting) {
      held = starting;
    },
    onStop(step) {
      steps.push(step);
    },
    stop(asked) {
      database ||= asked.database;
      if (state === 'stopping') return;
      log.info('stopping', { database });
      state = 'stopping';
      ending.abort(new Error('The daemon stops.'));
      void cleanUp(asked.exitCode ?? 0);
    },
    restart(reason, error) {
      if (state !== 'running') return;
      state = 'restarting';
      const next = nextRestart(readRestarts(env), Date.now());
      const pause = Math.max(ABORT_GRACE_MS, pauseBefore(next.count));
      log.warn(`restarting in place: ${reason}`, {
        count: next.count,
        pause,
        ...(error === undefined ? {} : { error }),
      });
      ending.abort(new Error(`The daemon restarts: ${reason}`));
      options.onWaiting?.(describe(reason, error));
      setTimeout(() => {
        if (state === 'restarting') replace({ ...env, IMAGO_RESTARTS: JSON.stringify(next) });
      }, pause);
    },
  };
}

/** What the program that we replaced left in the environment; `undefined` at an ordinary start. */
export function readRestarts(env: NodeJS.ProcessEnv): Restarts | undefined {
  try {
    const value = JSON.parse(env.IMAGO_RESTARTS ?? '') as Partial<Restarts>;
    return typeof value.count === 'number' && typeof value.at === 'number'
      ? { count: value.count, at: value.at }
      : undefined;
  } catch {
    return undefined;
  }
}

export function nextRestart(last: Restarts | undefined, now: number): Restarts {
  const quiet = last === undefined || Math.abs(now - last.at) > QUIET_MS;
  return { count: quiet ? 1 : last.count + 1, at: now };
}

/** None before the first two, then twice as long each time. */
export function pauseBefore(count: number): number {
  return count <= 2 ? 0 : Math.min(LONGEST_PAUSE_MS, 250 * 2 ** (count - 3));
}

function describe(reason: string, error: unknown): ErrorRecord {
  if (error !== undefined) return ensureImagoError(error).toRecord();
  return new ImagoError('daemon-starting', `The daemon begins again: ${reason}.`).toRecord();
}

async function withDeadline(ms: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Replaces the process image and keeps the pid. Descriptors close, and with them sockets, locks, and connections.
 * Flags are not passed again: they were kept as settings, which may have changed since.
 */
function replaceProcess(env: NodeJS.ProcessEnv): void {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)];
  // Without the program there is nothing to become; the next command then starts a daemon.
  if (existsSync(process.execPath)) process.execve?.(process.execPath, words, Object.fromEntries(set));
  process.exit(1);
}
