// The durable engine: what it promises to running operations, and what it needs from them.
// It has two adapters: DBOS on PostgreSQL, and one in memory with virtual time for tests.
import type { Json } from '../../domain/value/json.ts';

/**
 * One run of an operation, as the interpreter sees it. After a crash the interpreter is called again
 * from the start with the same id: `step` then answers from the record until it reaches the step that
 * was in progress. The sequence of calls must therefore depend only on recorded results.
 */
export interface Run {
  readonly id: string;
  /** Aborted when this process may no longer act: shutdown, or the daemon's lease is lost. */
  readonly signal: AbortSignal;
  /**
   * Runs `body` and records what it returns, once. A body that had returned is never called again;
   * one that was in progress when the process died is called again. A body that throws is not recorded, and is
   * called again after a pause, until it returns or the run is stopped: bodies turn expected failures into
   * results, and throw only when they cannot go on (the database is away, `signal` is aborted). In a run that
   * was stopped the call never returns: the run is started again later, by the process that is active then.
   */
  step<T extends Json>(name: string, body: () => Promise<T>): Promise<T>;
  /** Durable: after a crash only the remaining time is slept; never longer than `ms`, whatever the clock does. */
  sleep(name: string, ms: number): Promise<void>;
  /** Waits for a message sent to this run on `topic`; `undefined` when `timeoutMs` passes first. */
  waitFor(topic: string, timeoutMs: number): Promise<Json | undefined>;
}

/** What one call of a run returned. */
export interface RecordedCall {
  /** Its number among the calls of the run. */
  readonly place: number;
  readonly name: string;
  readonly value: Json;
}

/** Stores what calls returned. Only the active process can write: others are refused with `owner-stale`. */
export interface CallRecords {
  /** In the order of the calls. */
  read(run: string): Promise<readonly RecordedCall[]>;
  /** Safe on disk when it returns. A call that is recorded already stays as it is. */
  add(run: string, call: RecordedCall): Promise<void>;
  /** Deletes the records of runs that have ended. */
  forget(runs: readonly string[]): Promise<void>;
}

/**
 * Called by the engine for every run, and again after each crash, until it returns. An interpreter that throws
 * has a bug: the engine reports it and ends the run, which is not begun again.
 */
export type Interpreter = (run: Run) => Promise<void>;

export interface EnqueueOptions {
  /**
   * Runs with one key go one at a time, in the order they were enqueued. A run keeps its key until its
   * interpreter returns, also across crashes.
   */
  readonly key: string;
}

export interface ScheduleSpec {
  readonly name: string;
  /** Five or six fields. */
  readonly cron: string;
  /** An IANA time zone, e.g. `Europe/Paris`. */
  readonly timeZone: string;
}

export interface Engine {
  /** Begins to run what is enqueued, and first what an earlier process left unfinished. Call once. */
  start(interpreter: Interpreter): Promise<void>;
  /**
   * Puts the run in its key's queue. A second call with the same id does nothing, even if the run
   * has ended: a caller that does not know whether its first call arrived simply calls again.
   */
  enqueue(id: string, options: EnqueueOptions): Promise<void>;
  /**
   * Lets a run that waits for its key start immediately without it: one that was cancelled in the queue has nothing
   * left to do but to end. Runs that have begun, have ended or are unknown are left alone.
   */
  letPass(id: string): Promise<void>;
  /**
   * Delivers a message to `waitFor`. Kept until read, also across crashes. A second message queues up. Throws
   * `operation-not-found` for a run that was never enqueued; a run that has ended ignores it.
   */
  send(id: string, topic: string, message: Json): Promise<void>;
  /**
   * Calls `fire` at each time of the schedule while this process is active. A time for which `fire` returned is
   * never fired again, by any process; one that was in progress when the process died is, so `fire` does its work
   * under a name made from the time. Of the times that passed while the host slept the last one is fired;
   * those that passed while no process was active are not made up for. Replaces an earlier schedule of the same
   * name. Throws `input-invalid` for a line or a time zone that cannot be read.
   */
  schedule(spec: ScheduleSpec, fire: (at: Date) => Promise<void>): Promise<void>;
  /** Ends the schedule; unknown names are ignored. */
  unschedule(name: string): Promise<void>;
  /** Aborts the runs' signals and lets go. Runs stay recorded and go on at the next start. */
  stop(): Promise<void>;
}
