// Remembers which requests were answered before. A key belongs to the caller who sent it. It is stored with its response
// for a day; then a hash of 16 bytes remains, so that a late repeat is refused instead of being done again.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { IdempotencyKeys } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { fromJson, toJson } from '../connection/json.ts';

export interface IdempotencyStore extends IdempotencyKeys {
  /** Replaces the keys that are older than a day by their hashes and returns how many there were. */
  expire(): Promise<number>;
}

const lifetime = sql<string>`clock_timestamp() - interval '24 hours'`;

export function createIdempotencyKeys(database: Database): IdempotencyStore {
  return {
    async claim(key, who, fingerprint) {
      const claim = randomUUID();
      const fresh = {
        fingerprint,
        epoch: database.epoch,
        claim,
        claimed_at: sql<string>`clock_timestamp()`,
        status: null,
        body: null,
      };
      return database.write(async ({ tables }) => {
        const taken = await tables
          .insertInto('idempotency_keys')
          .values({ key, who, ...fresh })
          .onConflict((conflict) =>
            conflict
              .columns(['who', 'key'])
              .doUpdateSet(fresh)
              .where(({ eb, and }) =>
                and([
                  eb('idempotency_keys.claimed_at', '>=', lifetime),
                  eb('idempotency_keys.status', 'is', null),
                  eb('idempotency_keys.epoch', '<', database.epoch),
                  eb('idempotency_keys.fingerprint', '=', fingerprint),
                ]),
              ),
          )
          .returning('key')
          .executeTakeFirst();
        // Read after the insert: it waits for an expiry that has just deleted the row.
        const spent = await tables
          .selectFrom('spent_keys')
          .select('hash')
          .where('hash', '=', sql<string>`imago.spent_key(${who}, ${key})`)
          .executeTakeFirst();
        if (spent !== undefined) {
          await tables
            .deleteFrom('idempotency_keys')
            .where('claim', '=', claim)
            .where('key', '=', key)
            .execute();
          return { outcome: 'expired' };
        }
        if (taken !== undefined) return { outcome: 'new' };
        const row = await tables
          .selectFrom('idempotency_keys')
          .selectAll()
          .select(sql<boolean>`claimed_at < ${lifetime}`.as('expired'))
          .where('who', '=', who)
          .where('key', '=', key)
          .executeTakeFirstOrThrow();
        if (row.claim === claim) return { outcome: 'new' };
        if (row.expired) return { outcome: 'expired' };
        if (row.fingerprint !== fingerprint) return { outcome: 'differs' };
        if (row.status === null || row.body === null) return { outcome: 'running' };
        return { outcome: 'answered', answer: { status: row.status, body: fromJson(row.body) } };
      });
    },

    async finish(key, who, answer) {
      await database.writeOnce((tables) =>
        tables
          .updateTable('idempotency_keys')
          .set({ status: answer.status, body: toJson(answer.body) })
          .where('who', '=', who)
          .where('key', '=', key)
          .execute(),
      );
    },

    async forget(key, who) {
      await database.writeOnce((tables) =>
        tables
          .deleteFrom('idempotency_keys')
          .where('who', '=', who)
          .where('key', '=', key)
          .where('status', 'is', null)
          .execute(),
      );
    },

    async expire() {
      const gone = await database.writeOnce((tables) =>
        tables
          .with('gone', (query) =>
            query
              .deleteFrom('idempotency_keys')
              .where('claimed_at', '<', lifetime)
              .returning(sql<string>`imago.spent_key(who, key)`.as('hash')),
          )
          .insertInto('spent_keys')
          .columns(['hash'])
          .expression((query) => query.selectFrom('gone').select('hash'))
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst(),
      );
      return Number(gone.numInsertedOrUpdatedRows ?? 0);
    },
  };
}
