// Tokens. Only a hash of the secret is stored; a secret is 32 random bytes, so a plain hash is enough and the
// lookup by it tells an attacker nothing.
import { createHash, randomBytes } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { roles } from '../../domain/access/roles.ts';
import type { TokenRecord, Tokens } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { optional } from '../connection/json.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { TokensTable } from '../connection/tables.ts';

/** So that people and scanners know one when they see it. */
const tokenPrefix = 'imago_';

const useIsWrittenEveryMs = 60_000;

export function createTokens(database: Database): Tokens {
  return {
    async create(owner, role, expiresAt) {
      const secret = tokenPrefix + randomBytes(32).toString('base64url');
      const id = randomBytes(8).toString('hex');
      const record = await database.write(async ({ tables }) => {
        await tables
          .insertInto('tokens')
          .values({ id, owner, role, secret_hash: hashOf(secret), expires_at: expiresAt })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute();
        return tables.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      });
      return { record: toToken(record), secret };
    },

    async authenticate(secret) {
      if (!secret.startsWith(tokenPrefix)) return undefined;
      const row = await database.read((tables) =>
        tables
          .selectFrom('tokens')
          .selectAll()
          .where('secret_hash', '=', hashOf(secret))
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', sql<string>`clock_timestamp()`)
          .executeTakeFirst(),
      );
      if (row === undefined) return undefined;
      await noteUse(database, row);
      return toToken(row);
    },

    async roleOf(owner) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('tokens')
          .select('role')
          .distinct()
          .where('owner', '=', owner)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', sql<string>`clock_timestamp()`)
          .execute(),
      );
      return roles.findLast((role) => rows.some((row) => row.role === role));
    },

    async list(query) {
      const before = readCursor<[string, string]>('tokens', query, ['string', 'string']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('tokens').selectAll();
        if (before !== undefined) {
          found = found.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('created_at', 'id'), '<', tuple(before[0], before[1])),
          );
        }
        return found.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(rowsToRead(query)).execute();
      });
      return toPage('tokens', query, rows, (row) => [row.created_at, row.id], toToken);
    },

    revoke: (id) =>
      database.write(async ({ tables }) => {
        const row = await tables
          .updateTable('tokens')
          .set({ revoked_at: sql<string>`coalesce(revoked_at, clock_timestamp())` })
          .where('id', '=', id)
          .executeTakeFirst();
        return row.numUpdatedRows > 0n;
      }),
  };
}

/** At most once a minute, without a flush. A daemon that may not write, or a full disk, still lets people in. */
async function noteUse(database: Database, row: Selectable<TokensTable>): Promise<void> {
  const last = row.last_used_at === null ? Number.NEGATIVE_INFINITY : Date.parse(row.last_used_at);
  if (Math.abs(Date.now() - last) < useIsWrittenEveryMs) return;
  await database
    .write(
      ({ tables }) =>
        tables
          .updateTable('tokens')
          .set({ last_used_at: sql<string>`clock_timestamp()` })
          .where('id', '=', row.id)
          .execute(),
      { durable: false },
    )
    .catch(() => undefined);
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function toToken(row: Selectable<TokensTable>): TokenRecord {
  return {
    id: row.id,
    owner: row.owner,
    role: row.role,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ...optional('revokedAt', row.revoked_at),
    ...optional('lastUsedAt', row.last_used_at),
  };
}
