// Credentials for an API server: fixed ones, and tokens in a file that something else renews.
import { readFile } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';

export interface Credentials {
  /** The client certificate and its key, as PEM. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The value of the Authorization header. */
  readonly authorization?: string | undefined;
}

export interface SignIn {
  /** Returns the current credentials. They are cached as long as they are valid. */
  get(signal: AbortSignal): Promise<Credentials>;
  /** Drops credentials that the server rejected. Returns whether `get` can return others. */
  renew(): boolean;
}

export function fixedSignIn(credentials: Credentials): SignIn {
  return { get: async () => credentials, renew: () => false };
}

const rereadMs = 60_000;

/** Reads the file again after a minute, and when the server rejects the token. */
export function tokenFileSignIn(
  path: string,
  certificate: Credentials = {},
  now: () => number = Date.now,
): SignIn {
  let known: { readonly authorization: string; readonly readAt: number } | undefined;
  return {
    async get() {
      if (known === undefined || now() - known.readAt >= rereadMs) {
        const token = await readFile(path, 'utf8').catch((cause: Error) => {
          throw new ImagoError('cluster-config-invalid', `The token file cannot be read: ${cause.message}.`, {
            cause,
          });
        });
        known = { authorization: `Bearer ${token.trim()}`, readAt: now() };
      }
      return { ...certificate, authorization: known.authorization };
    },
    renew() {
      known = undefined;
      return true;
    },
  };
}
