// The numbers of PostgreSQL's advisory locks that Imago takes, so that no two purposes share one. They lie in
// the space of two 32-bit numbers; locks on names are hashed into the space of one 64-bit number.
import { type RawBuilder, sql } from 'kysely';

/** `IMAG` in ASCII. */
export const lockClass = 0x494d4147;

export const locks = {
  /** Held by the active daemon, as long as its connection lives. */
  lease: 1,
  /** Held while the schema changes. */
  migrate: 2,
  /** Shared by every writing transaction, exclusive for the moment in which the epoch grows. */
  fence: 3,
} as const;

/** Waits for the lock on a name, which is held until the transaction ends. */
export function lockName(purpose: string, name: string): RawBuilder<unknown> {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`${purpose}/${name}`}, 0))`;
}
