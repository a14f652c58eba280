// Which requests were answered before. A key belongs to whoever sent it, for a day.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { IdempotencyKeys } from '../../ports/database/access.ts';
import type { Database } from '../connection/database.ts';
import { fromJson, toJson } from '../connection/json.ts';

export interface IdempotencyStore extends IdempotencyKeys {
  /** Deletes the keys that are older than a day and returns how many went. */
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
              .where(({ eb, or, and }) =>
                or([
                  eb('idempotency_keys.claimed_at', '<', lifetime),
                  and([
                    eb('idempotency_keys.status', 'is', null),
                    eb('idempotency_keys.epoch', '<', database.epoch),
                    eb('idempotency_keys.fingerprint', '=', fingerprint),
                  ]),
                ]),
              ),
          )
          .returning('key')
          .executeTakeFirst();
        if (taken !== undefined) return { outcome: 'new' };
        const row = await tables
          .selectFrom('idempotency_keys')
          .selectAll()
          .where('who', '=', who)
          .where('key', '=', key)
          .executeTakeFirstOrThrow();
        if (row.claim === claim) return { outcome: 'new' };
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
        tables.deleteFrom('idempotency_keys').where('claimed_at', '<', lifetime).executeTakeFirst(),
      );
      return Number(gone.numDeletedRows);
    },
  };
}
