// Calls to a provider for many nodes, a limited number at a time.
import { mapLimit } from '../../async/map-limit.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** Returns the results in the order of the items. The first failure stops further calls. */
export function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  return mapLimit(items, 16, work);
}

/** `undefined` if the node was deleted in the meantime: others scale pools too. */
export async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'provider-not-found') return undefined;
    throw thrown;
  }
}
