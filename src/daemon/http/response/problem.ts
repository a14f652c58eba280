// Formats errors as problem documents (RFC 9457). The message of an unexpected error can contain anything, so the caller
// gets only the request id, and the log gets the rest.
import type { Problem } from '../../../api/schemas/common.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';

export function problemDocument(error: ImagoError, requestId: string): Problem {
  const words = error.code.replaceAll('-', ' ');
  return {
    type: `urn:imago:error:${error.code}`,
    title: `${words.charAt(0).toUpperCase()}${words.slice(1)}.`,
    status: error.httpStatus,
    detail: error.message,
    code: error.code,
    kind: error.kind,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    retryable: error.retryable,
    requestId,
    ...(error.details === undefined ? {} : { details: { ...error.details } }),
  };
}

export function problemResponse(error: ImagoError, requestId: string): Response {
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  };
  const { allow, retryAfterMs } = error.details ?? {};
  if (typeof allow === 'string') headers.allow = allow;
  if (typeof retryAfterMs === 'number')
    headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  if (error.httpStatus === 401) headers['www-authenticate'] = 'Bearer realm="imago"';
  if (error.httpStatus === 408 || error.httpStatus === 413) headers.connection = 'close';
  return new Response(JSON.stringify(problemDocument(error, requestId)), {
    status: error.httpStatus,
    headers,
  });
}

/** Returns the error that the caller is allowed to see. */
export function toPublicError(thrown: unknown): ImagoError {
  const error = ensureImagoError(thrown);
  const meant = error === thrown && !(error.cause instanceof Error && error.cause.message === error.message);
  if (meant || error.kind !== 'bug') return error;
  return new ImagoError('internal', 'The daemon reached an unexpected internal state.', {
    cause: thrown,
    hint: 'This is a bug in Imago. Find the request id in the daemon log, and report it.',
  });
}
