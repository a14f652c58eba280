// Tokens. Only a hash of the secret is stored; a secret is 32 random bytes, so a plain hash is enough and the
// lookup by it tells an attacker nothing.
import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { type TokenRecord, token } from '../../domain/access/record.ts';
import { roles } from '../../domain/access/roles.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Tokens } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { records } from '../connection/records.ts';

const tokens = records('tokens', token);

/** So that people and scanners know one when they see it. */
const tokenPrefix = 'imago_';

const useIsWrittenEveryMs = 60_000;

export function createTokens(database: Database): Tokens {
  return {
    async create(owner, role, expiresAt) {
      const secret = tokenPrefix + randomBytes(32).toString('base64url');
      const id = randomBytes(8).toString('hex');
      const record = await database.write(async ({ tables }) => {
        const row = { id, owner, role, secret_hash: hashOf(secret), expires_at: expiresAt };
        const added = await tokens.insertIfNew(tables, row);
        return added ?? (await tokens.find(tables, { id }));
      });
      if (record === undefined) throw new ImagoError('internal', `Token ${id} was not stored.`);
      return { record, secret };
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
      const record = tokens.of(row);
      await noteUse(database, record);
      return record;
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

    list: (query) =>
      database.read((tables) =>
        tokens.page(tables, query, { by: { created_at: 'string', id: 'string' }, newestFirst: true }),
      ),

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
async function noteUse(database: Database, { id, lastUsedAt }: TokenRecord): Promise<void> {
  const last = lastUsedAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(lastUsedAt);
  if (Math.abs(Date.now() - last) < useIsWrittenEveryMs) return;
  await database
    .write(
      ({ tables }) =>
        tables
          .updateTable('tokens')
          .set({ last_used_at: sql<string>`clock_timestamp()` })
          .where('id', '=', id)
          .execute(),
      { durable: false },
    )
    .catch(() => undefined);
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
