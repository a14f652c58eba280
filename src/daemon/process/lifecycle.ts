// Stops the daemon process, or restarts it in place. A restart replaces the program and keeps the pid, so that no stale
// step, timer, or connection survives a lost lease or database. It is the only recovery from an invalid state.
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
  /** Exit code of the process. Defaults to 0. */
  readonly exitCode?: number;
}

export interface Lifecycle {
  /** Aborts when the process starts to stop or restart. */
  readonly ending: AbortSignal;
  /** Makes a stop wait until this settles, so that what is being started can be stopped. */
  hold(starting: Promise<unknown>): void;
  /** Adds a clean-up step. A stop runs them in reverse order, and logs and skips a step that fails or hangs. */
  onStop(step: CleanUp): void;
  /** Runs all clean-up steps and exits. Calling it again can only add `database`. */
  stop(options: StopOptions): void;
  /** Restarts in place without clean-up, like after a crash. */
  restart(reason: string, error?: unknown): void;
}

export interface Restarts {
  /** Number of restarts, each within a minute of the previous one. */
  readonly count: number;
  readonly at: number;
}

export interface LifecycleOptions {
  readonly log: Log;
  readonly env: NodeJS.ProcessEnv;
  /** Called when a restart waits, so that clients get the reason. */
  readonly onWaiting?: (reason: ErrorRecord) => void;
  readonly exit?: (code: number) => void;
  readonly replace?: (env: NodeJS.ProcessEnv) => void;
}

const resetAfterMs = 60_000;
const maxPauseMs = 10_000;
/** Time for steps to handle the abort and stop what they started. */
const abortGraceMs = 200;
const startTimeoutMs = 20_000;

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
    await attempt('what was being started', startTimeoutMs, () => held.catch(() => undefined));
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
      const pause = Math.max(abortGraceMs, pauseBefore(next.count));
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

/** Reads what the replaced program left in the environment; `undefined` after a regular start. */
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
  const quiet = last === undefined || Math.abs(now - last.at) > resetAfterMs;
  return { count: quiet ? 1 : last.count + 1, at: now };
}

/** Returns no pause before the first two restarts, then twice as long each time. */
export function pauseBefore(count: number): number {
  return count <= 2 ? 0 : Math.min(maxPauseMs, 250 * 2 ** (count - 3));
}

function describe(reason: string, error: unknown): ErrorRecord {
  if (error !== undefined) return ensureImagoError(error).toRecord();
  return new ImagoError('daemon-starting', `The daemon restarts: ${reason}.`).toRecord();
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
 * Replaces the process image and keeps the pid. All descriptors close, including sockets, locks, and connections. Flags are
 * not passed again, because they were stored as settings, which can have changed.
 */
function replaceProcess(env: NodeJS.ProcessEnv): void {
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)];
  // If Node was deleted, the next command starts a daemon.
  if (existsSync(process.execPath)) process.execve?.(process.execPath, words, Object.fromEntries(set));
  process.exit(1);
}
