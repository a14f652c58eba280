// One attempt of some work, with a deadline: nothing waits indefinitely, not even work that ignores its signal.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';

export interface AttemptOptions {
  /** The clock of this host. */
  readonly clock: Clock;
  /** The clock that measures the work: the provider's, which can run faster. */
  readonly workClock: Clock;
  readonly timeoutMs: number;
  /** Aborted when the work must stop early. */
  readonly signal: AbortSignal;
  /** The work, for the error. */
  readonly description: string;
}

/** A provider's time can run a thousand times faster than real time. */
const minRealMs = 60_000;
/** How long aborted work can take to finish before it is abandoned. */
const graceMs = 30_000;

/** Returns the body's result. Throws `operation-step-timeout` after the deadline, or what the body threw, or the signal's reason. */
export async function attempt<T>(
  body: (signal: AbortSignal) => Promise<T>,
  options: AttemptOptions,
): Promise<T> {
  const { clock } = options;
  const deadline = new AbortController();
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  const late = new ImagoError(
    'operation-step-timeout',
    `${options.description} did not finish within ${options.timeoutMs / 1000} s.`,
  );

  void timePassed(options, over.signal).then(
    () => deadline.abort(late),
    () => undefined,
  );
  const abandoned = whenAborted(signal, over.signal).then(async () => {
    await clock.sleep(graceMs, over.signal);
    throw signal.reason;
  });
  abandoned.catch(() => undefined);

  try {
    return await Promise.race([body(signal), abandoned]);
  } catch (error) {
    throw deadline.signal.aborted && !options.signal.aborted ? late : error;
  } finally {
    over.abort();
  }
}

async function timePassed(options: AttemptOptions, over: AbortSignal): Promise<void> {
  const { clock, workClock, timeoutMs } = options;
  await Promise.all([workClock.sleep(timeoutMs, over), clock.sleep(Math.min(timeoutMs, minRealMs), over)]);
}

/** Resolves once `signal` is aborted; never settles after `over`. */
function whenAborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}
