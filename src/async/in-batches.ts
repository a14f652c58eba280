// Work on many things of a provider, some at a time: neither one after the other nor all at once.
import { ImagoError } from '../domain/error/imago-error.ts';

const atOnce = 16;

/** In the order of the items. Stops at the first batch in which one fails. */
export async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let start = 0; start < items.length; start += atOnce) {
    done.push(...(await Promise.all(items.slice(start, start + atOnce).map(work))));
  }
  return done;
}

/** `undefined` when the thing went away meanwhile: others scale pools too. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'provider-not-found') return undefined;
    throw thrown;
  }
}
