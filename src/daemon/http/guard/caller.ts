// Who is asking. Over the Unix socket without a token it is `local`, with all rights on this machine; every
// other caller is the owner of a token that is good now.

import { localOwner, type Role, roleIncludes } from '../../../domain/access/roles.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Tokens } from '../../../ports/database/access.ts';

/** Through which door a request came. Decided by the server that accepted the connection. */
export type Door =
  | { readonly kind: 'socket' }
  | { readonly kind: 'tcp'; readonly remoteAddress: string; readonly localAddress: string };

export interface Caller {
  readonly who: string;
  readonly role: Role;
  /** Came over the Unix socket without a token: one person, and never an approver. */
  readonly local: boolean;
  readonly token?: string;
}

/** `undefined` when there is no token, or one that is unknown, expired or revoked. */
export async function identifyCaller(
  door: Door,
  authorization: string | undefined,
  tokens: Tokens,
): Promise<Caller | undefined> {
  if (authorization === undefined) {
    return door.kind === 'socket' ? { who: localOwner, role: 'admin', local: true } : undefined;
  }
  const secret = /^Bearer +([\x21-\x7e]{1,500})$/i.exec(authorization)?.[1];
  if (secret === undefined) return undefined;
  const token = await tokens.authenticate(secret);
  return token && { who: token.owner, role: token.role, local: false, token: token.id };
}

export function requireRole(caller: Caller, needed: Role, what: string): void {
  if (roleIncludes(caller.role, needed)) return;
  throw new ImagoError(
    'api-role-too-small',
    `${caller.who} has the role ${caller.role}; ${what} needs ${needed}.`,
    { details: { role: caller.role, needed } },
  );
}

export function unauthenticated(authorization: string | undefined): ImagoError {
  const message =
    authorization === undefined ? 'The request has no token.' : 'The token is unknown, expired or revoked.';
  return new ImagoError('api-unauthenticated', message, { httpStatus: 401 });
}
