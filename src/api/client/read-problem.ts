// Converts the problem document of a response to the error that the daemon threw.
import type { IncomingMessage } from 'node:http';
import { isErrorCode } from '../../domain/error/catalog.ts';
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
      `The response has status ${status} and is not a problem document.`,
    );
  }
  const { code, detail, hint, retryable, details } = problem;
  if (!isErrorCode(code))
    return new ImagoError('daemon-answer-invalid', `${detail} (${code})`, { retryable });
  const retryAfter = Number(response.headers['retry-after']);
  const facts = {
    ...details,
    ...(problem.kind === 'bug' && { requestId: problem.requestId }),
    ...(retryAfter > 0 && { retryAfterMs: retryAfter * 1000 }),
  };
  return new ImagoError(code, detail, {
    httpStatus: status,
    retryable,
    ...(hint !== undefined && { hint }),
    ...(Object.keys(facts).length > 0 && { details: facts }),
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

const timeoutMs = 2000;
/** Codes that follow from the cause. */
const consequences = ['daemon-starting', 'owner-stale'];

/** Returns the error behind `daemon-starting`; `undefined` if the daemon is only slow to start. */
export function startupErrorIn({ message, hint, details }: ImagoError): ImagoError | undefined {
  const cause = String(details?.cause);
  if (!isErrorCode(cause) || consequences.includes(cause)) return undefined;
  return new ImagoError(cause, message, hint === undefined ? {} : { hint });
}

/** Returns the startup error of the daemon at this socket; `undefined` if it has none or does not respond. */
export async function fetchStartupError(socket: string): Promise<ImagoError | undefined> {
  try {
    const request = { method: 'GET', path: '/v1/version', headers: {}, timeoutMs };
    const response = await exchange({ socketPath: socket }, request);
    return response.statusCode === 503 ? startupErrorIn(await readProblem(response)) : undefined;
  } catch {
    return undefined;
  }
}
