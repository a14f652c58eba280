// Who may do what, who did what, and which requests were answered before.

import type { AuditEntry, TokenRecord } from '../../domain/access/record.ts';
import type { Role } from '../../domain/access/roles.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Page, PageQuery } from '../page.ts';

export type { AuditEntry, TokenRecord } from '../../domain/access/record.ts';
export type { Role } from '../../domain/access/roles.ts';

export interface Tokens {
  /** Stores only a hash; the secret is returned here and never again. */
  create(
    owner: string,
    role: Role,
    expiresAt: string,
  ): Promise<{ readonly record: TokenRecord; readonly secret: string }>;
  /** The live token of that secret: not expired, not revoked. */
  authenticate(secret: string): Promise<TokenRecord | undefined>;
  /** Returns the largest role among the owner's valid tokens; `undefined` if there is none. */
  roleOf(owner: string): Promise<Role | undefined>;
  list(query: PageQuery): Promise<Page<TokenRecord>>;
  /** Revokes it immediately. Returns `false` if there is no such token; a second call changes nothing. */
  revoke(id: string): Promise<boolean>;
}

export interface Audit {
  add(entry: Omit<AuditEntry, 'id' | 'at'>): Promise<void>;
  /** Newest first. */
  list(query: PageQuery & { readonly subject?: string }): Promise<Page<AuditEntry>>;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: Json;
}

export interface IdempotencyKeys {
  /**
   * Claims the key for a request of this fingerprint. `new`: go on, then `finish`. `answered`: send this again.
   * `running`: another request with it is in progress. `differs`: the key was used for another request. `expired`: it
   * was used so long ago that its response is no longer stored.
   */
  claim(
    key: string,
    who: string,
    fingerprint: string,
  ): Promise<
    | { readonly outcome: 'new' | 'running' | 'differs' | 'expired' }
    | { readonly outcome: 'answered'; readonly answer: StoredAnswer }
  >;
  finish(key: string, who: string, answer: StoredAnswer): Promise<void>;
  /** Gives the key back when the request failed before it changed anything. */
  forget(key: string, who: string): Promise<void>;
}
