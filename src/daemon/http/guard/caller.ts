// Identifies the caller. Over the Unix socket without a token it is `local`, with all rights on this host; every other
// caller is the owner of a valid token.
import { userInfo } from 'node:os';
import { localOwner, type Requester, type Role, roleIncludes } from '../../../domain/access/roles.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Tokens } from '../../../ports/database/access.ts';

/** The transport of a request, determined by the server that accepted the connection. */
export type Transport =
  | { readonly kind: 'socket' }
  | { readonly kind: 'tcp'; readonly remoteAddress: string; readonly localAddress: string };

export interface Caller {
  readonly who: string;
  readonly role: Role;
  /** The request came over the Unix socket, so the caller can already read every file that the daemon's user can. */
  readonly local: boolean;
  /** Present over the Unix socket. */
  readonly osUser?: string;
  readonly token?: string;
}

/** Returns `undefined` if there is no token, or if it is unknown, expired, or revoked. */
export async function identifyCaller(
  transport: Transport,
  authorization: string | undefined,
  tokens: Tokens,
): Promise<Caller | undefined> {
  if (authorization === undefined) {
    return transport.kind === 'socket' ? { who: localOwner, role: 'admin', ...atSocket() } : undefined;
  }
  const secret = /^Bearer +([\x21-\x7e]{1,500})$/i.exec(authorization)?.[1];
  if (secret === undefined) return undefined;
  const token = await tokens.authenticate(secret);
  const where = transport.kind === 'socket' ? atSocket() : { local: false };
  return token && { who: token.owner, role: token.role, ...where, token: token.id };
}

/**
 * The socket is in a directory that only the daemon's user can enter, so that the kernel has already checked who is
 * calling: this user, or root, who can become this user anyway. See docs/security.md.
 */
function atSocket(): { readonly local: true; readonly osUser: string } {
  return { local: true, osUser: osUser() };
}

/** Returns the OS user of a request that has no caller, because its token is not valid. */
export function osUserAt({ kind }: Transport): { readonly osUser?: string } {
  return kind === 'socket' ? { osUser: osUser() } : {};
}

/** Returns the caller as the person who requests or approves something. */
export function personOf({ who, osUser: known }: Caller): Requester {
  const user = known ?? (who === osUser() ? who : undefined);
  return { by: who, ...(user === undefined ? {} : { osUser: user }) };
}

let knownUser: string | undefined;

/** Returns the name of the daemon's user, or `uid N` if the system has no name for it. */
function osUser(): string {
  knownUser ??= readUser();
  return knownUser;
}

function readUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

export function requireRole(caller: Caller, needed: Role, what: string): void {
  const problem = roleProblem(caller, needed, what);
  if (problem !== undefined) throw problem;
}

/** Returns what `requireRole` throws; `undefined` if the role is sufficient. */
export function roleProblem(
  caller: Pick<Caller, 'who' | 'role'>,
  needed: Role,
  what: string,
): ImagoError | undefined {
  if (roleIncludes(caller.role, needed)) return undefined;
  return new ImagoError(
    'api-role-too-small',
    `${caller.who} has the role ${caller.role}; ${what} needs ${needed}.`,
    { details: { role: caller.role, needed } },
  );
}

export function unauthenticated(authorization: string | undefined): ImagoError {
  const message =
    authorization === undefined ? 'The request has no token.' : 'The token is unknown, expired, or revoked.';
  return new ImagoError('api-unauthenticated', message, { httpStatus: 401 });
}
