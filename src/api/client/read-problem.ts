// Turns the problem document of an answer back into the error that the daemon threw.
import type { IncomingMessage } from 'node:http';
import { type ErrorCode, errorCatalogue } from '../../domain/error/catalog.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Problem } from '../schemas/common.ts';
import { exchange, readText } from './exchange.ts';

export async function readProblem(response: IncomingMessage, signal?: AbortSignal): Promise<ImagoError> {
  const text = await readText(response, signal);
  const status = response.statusCode ?? 0;
  const problem = parseProblem(text);
  if (problem === undefined) {
    return new ImagoError(
      'daemon-answer-invalid',
      `The answer has status ${status} and is no problem document.`,
    );
  }
  const { code, detail, hint, retryable, details } = problem;
  if (!isKnown(code)) return new ImagoError('daemon-answer-invalid', `${detail} (${code})`, { retryable });
  const retryAfter = Number(response.headers['retry-after']);
  const facts = {
    ...details,
    ...(problem.kind === 'bug' ? { requestId: problem.requestId } : {}),
    ...(retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}),
  };
  return new ImagoError(code, detail, {
    httpStatus: status,
    retryable,
    ...(hint === undefined ? {} : { hint }),
    ...(Object.keys(facts).length === 0 ? {} : { details: facts }),
  });
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const fits = typeof value === 'object' && value !== null && 'code' in value && 'detail' in value;
    return fits ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

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
