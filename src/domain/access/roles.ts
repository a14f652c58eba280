// Who may do what. Roles are in order: each may do all that the ones before it may.

export const roles = ['viewer', 'operator', 'publisher', 'admin'] as const;
export type Role = (typeof roles)[number];

export function isRole(text: string): text is Role {
  return roles.some((role) => role === text);
}

export function roleIncludes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Who acts over the Unix socket without a token. Counts as one person; no token may be owned by this name. */
export const localOwner = 'local';

/** Who requests or approves: the owner of a token, or `local`. */
export interface Requester {
  readonly by: string;
  /** The OS user, if it is known: by the Unix socket, or because the token's owner is named like it. */
  readonly osUser?: string | undefined;
}

/** Whether both are one person: by the name, or because one OS user used several tokens. `local` is any OS user. */
export function isSamePerson(one: Requester, other: Requester): boolean {
  if (one.by === other.by) return true;
  if (one.osUser === undefined) return one.by === localOwner && other.osUser !== undefined;
  return one.osUser === other.osUser || other.by === localOwner;
}
