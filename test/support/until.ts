// Waits for a condition. It is the only place where a test that awaits something lets time pass between two looks.
import { setTimeout as pause } from 'node:timers/promises';
import { patience } from './speed.ts';

const longestPauseMs = 100;

/**
 * Looks repeatedly until the answer is neither false nor undefined, and returns it. A look that throws counts as a
 * negative answer. Throws if that does not happen within the limit, with the last error as the cause. The limit only
 * ends what hangs: an emulated machine takes minutes to boot on a busy host.
 */
export async function until<T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
  seconds = 500,
): Promise<T> {
  const deadline = performance.now() + patience(seconds * 1000);
  let trouble: unknown;
  let pauseMs = 2;
  while (performance.now() < deadline) {
    try {
      const seen = await look();
      if (seen !== false && seen !== undefined) return seen;
    } catch (error) {
      trouble = error;
    }
    await pause(pauseMs);
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
  }
  throw new Error(`This did not happen in time: ${what}.`, { cause: trouble });
}

/** Reads repeatedly until there is something that fits, and returns it. */
export async function untilFits<T>(
  read: () => Promise<T | undefined>,
  fits: (thing: T) => boolean,
  seconds?: number,
): Promise<T> {
  let last: T | undefined;
  const look = async () => {
    last = await read();
    return last !== undefined && fits(last) && { found: last };
  };
  try {
    return (await until(String(fits), look, seconds)).found;
  } catch (error) {
    throw new Error(`The last that was seen: ${JSON.stringify(last)}.`, { cause: error });
  }
}
