// Handles repeated writes: a request with a known key gets the stored response, and does not run again.
import { createHash } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { IdempotencyKeys, StoredAnswer } from '../../ports/database/access.ts';

export interface KeyedRequest {
  readonly key: string;
  readonly who: string;
  readonly fingerprint: string;
  /** The response must not be stored, because it contains a secret. */
  readonly secret: boolean;
}

/** Stores the response for the key, or releases the key if it is `undefined`. Called once. */
export type Settle = (answer: StoredAnswer | undefined) => Promise<void>;

/** Returns the stored response of an earlier request, or a claim on the key that must be settled. */
export async function claimKey(
  keys: IdempotencyKeys,
  request: KeyedRequest,
): Promise<{ readonly answer: StoredAnswer } | { readonly settle: Settle }> {
  const { key, who } = request;
  const claim = await keys.claim(key, who, request.fingerprint);
  switch (claim.outcome) {
    case 'answered':
      if (request.secret) throw withheld(claim.answer);
      return { answer: claim.answer };
    case 'running':
      throw new ImagoError('idempotency-running', `The request with the key ${key} is still in progress.`, {
        retryable: true,
        details: { retryAfterMs: 1000 },
      });
    case 'differs':
      throw new ImagoError('idempotency-reused', `The key ${key} was used for another request.`, {
        httpStatus: 422,
      });
    case 'expired':
      throw new ImagoError('idempotency-expired', `The key ${key} was used more than a day ago.`);
    case 'new':
      return {
        settle: (answer) => (answer === undefined ? keys.forget(key, who) : keys.finish(key, who, answer)),
      };
  }
}

export function readKey(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === null) return undefined;
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return key;
  throw new ImagoError('input-invalid', 'The idempotency key is not 1 to 200 printable characters.');
}

export function fingerprintOf(method: string, target: string, body: string): string {
  return sha256(JSON.stringify([method, target, body]));
}

/** Returns the same id for the same key of the same caller, as a UUID (version 8). */
export function operationIdOf(who: string, key: string): string {
  const hex = sha256(JSON.stringify(['operation', who, key]));
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function withheld({ body }: StoredAnswer): ImagoError {
  return new ImagoError(
    'idempotency-withheld',
    'The request already completed, and its response contained a secret that is not stored.',
    {
      hint: 'Revoke what it created, and send a new request with a new key.',
      details: { made: body },
    },
  );
}
