// What keeps a daemon from getting ready, as it tells those who ask too early.
import { type ErrorCode, errorCatalogue } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { exchange } from './exchange.ts';
import { readProblem } from './read-problem.ts';

const PATIENCE_MS = 2000;
/** Not what is wrong, but what follows from it. */
const consequences = ['daemon-starting', 'owner-stale'];

/** The error behind `daemon-starting`; `undefined` when the daemon only takes its time. */
export function troubleIn({ message, hint, details }: ImagoError): ImagoError | undefined {
  const cause = String(details?.cause);
  if (!(cause in errorCatalogue) || consequences.includes(cause)) return undefined;
  return new ImagoError(cause as ErrorCode, message, hint === undefined ? {} : { hint });
}

/** Asks the daemon at this socket; `undefined` also when it does not answer. */
export async function troubleOf(socket: string): Promise<ImagoError | undefined> {
  try {
    const request = { method: 'GET', path: '/v1/version', headers: {}, timeoutMs: PATIENCE_MS };
    const response = await exchange({ socketPath: socket }, request);
    return response.statusCode === 503 ? troubleIn(await readProblem(response)) : undefined;
  } catch {
    return undefined;
  }
}
