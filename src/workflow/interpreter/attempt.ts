// One try of a piece of work, with a deadline: nothing waits for ever, not even work that does not listen to
// its signal.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';

export interface AttemptOptions {
  /** The clock of the machine that this runs on. */
  readonly clock: Clock;
  /** The clock by which the work is measured: the provider's, which may run faster. */
  readonly workClock: Clock;
  readonly timeoutMs: number;
  /** Aborted when the work must stop early. */
  readonly signal: AbortSignal;
  /** What is tried, for the error. */
  readonly what: string;
}

/** A provider's time may run a thousand times faster than the computer that works for it. */
const leastRealMs = 60_000;
/** How long aborted work may take to come to its end before it is left alone. */
const graceMs = 30_000;

/** The body's answer; `operation-step-timeout` after the deadline; what the body threw, or the signal's reason. */
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
    `${options.what} did not finish within ${options.timeoutMs / 1000} s.`,
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
  await Promise.all([workClock.sleep(timeoutMs, over), clock.sleep(Math.min(timeoutMs, leastRealMs), over)]);
}

/** Resolves once `signal` is aborted; never settles after `over`. */
function whenAborted(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
  });
}
