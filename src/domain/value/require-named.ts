// Refuses names that do not exist, with the nearest that does.
import { ImagoError } from '../error/imago-error.ts';
import { didYouMean } from './suggest.ts';

const notFound = {
  pool: 'pool-not-found',
  cluster: 'cluster-not-found',
  gallery: 'gallery-not-found',
  webhook: 'webhook-not-found',
  schedule: 'schedule-not-found',
} as const;

/** Returns what was found, or throws the subject's not-found error. */
export async function requireNamed<T>(
  subject: keyof typeof notFound,
  name: string,
  found: T | undefined,
  known: () => Promise<Iterable<string>>,
): Promise<T> {
  if (found !== undefined) return found;
  throw new ImagoError(notFound[subject], `There is no ${subject} ${name}.`, {
    hint: didYouMean(name, await known()) ?? `See \`imago ${subject} list\`.`,
  });
}
