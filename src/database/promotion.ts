// Policies, composed versions and signed statements on PostgreSQL: appended, never changed.
import type { Selectable } from 'kysely';
import type { ComposedRecord, ComposedVersion } from '../domain/evidence/tested-combination.ts';
import type { Policy, PolicyRecord } from '../domain/policy/policy.ts';
import type { Json } from '../domain/value/json.ts';
import { stampAfter, toIso } from '../domain/value/time.ts';
import type { MoveAttestation, Promotion } from '../ports/database/promotion.ts';
import type { Database } from './connection/database.ts';
import { fromJson, storableText, toJson } from './connection/json.ts';
import { lockName } from './connection/locks.ts';
import { readCursor, rowsToRead, toPage } from './connection/page.ts';
import type { AttestationsTable, ComposedVersionsTable, PoliciesTable } from './connection/tables.ts';

export interface PromotionOptions {
  /** Milliseconds since 1970; it may stand still or run backwards. */
  readonly now?: () => number;
}

export function createPromotion(database: Database, { now = Date.now }: PromotionOptions = {}): Promotion {
  return {
    async getPolicy() {
      const row = await database.read((tables) =>
        tables.selectFrom('policies').selectAll().orderBy('id', 'desc').limit(1).executeTakeFirst(),
      );
      return row && toPolicy(row);
    },

    setPolicy: (policy) =>
      database.write(async ({ tables, emit }) => {
        await lockName('policy', '').execute(tables);
        const last = await tables
          .selectFrom('policies')
          .selectAll()
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst();
        if (last?.digest === policy.digest) return toPolicy(last);
        const row = await tables
          .insertInto('policies')
          .values({
            text: storableText(policy.text),
            content: toJson(policy.policy as unknown as Json),
            digest: policy.digest,
            set_by: policy.by,
            why: policy.why,
            at: stampAfter(new Date(now()), last?.at),
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        emit({
          type: 'policy.set',
          subject: 'policy',
          data: { id: row.id, digest: row.digest, by: row.set_by, why: row.why },
        });
        return toPolicy(row);
      }),

    async listPolicies(query) {
      const before = readCursor<[number]>('policies', query, ['number']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('policies').selectAll();
        if (before !== undefined) found = found.where('id', '<', before[0]);
        return found.orderBy('id', 'desc').limit(rowsToRead(query)).execute();
      });
      return toPage('policies', query, rows, ({ id }) => [id], toPolicy);
    },

    addComposed: (id, composed) =>
      database.write(async ({ tables }) => {
        await tables
          .insertInto('composed_versions')
          .values({
            id,
            digest: composed.digest,
            content: toJson(composed as unknown as Json),
            at: toIso(new Date(now())),
          })
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute();
        const row = await tables
          .selectFrom('composed_versions')
          .selectAll()
          .where('id', '=', id)
          .executeTakeFirstOrThrow();
        return toComposed(row);
      }),

    async getComposed(id) {
      const row = await database.read((tables) =>
        tables.selectFrom('composed_versions').selectAll().where('id', '=', id).executeTakeFirst(),
      );
      return row && toComposed(row);
    },

    async listComposed(digest) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('composed_versions')
          .selectAll()
          .where('digest', '=', digest)
          .orderBy('at', 'desc')
          .orderBy('id')
          .execute(),
      );
      return rows.map(toComposed);
    },

    addAttestation: ({ move, digest, predicateType, envelope }, after) =>
      database.write(async ({ tables }) => {
        await lockName('attestation', String(move)).execute(tables);
        const newest = await tables
          .selectFrom('attestations')
          .selectAll()
          .where('move', '=', move)
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst();
        if (newest !== undefined && newest.id !== after) return toAttestation(newest);
        const row = await tables
          .insertInto('attestations')
          .values({ move, digest, predicate_type: predicateType, envelope, at: toIso(new Date(now())) })
          .returningAll()
          .executeTakeFirstOrThrow();
        return toAttestation(row);
      }),

    async listAttestations(move) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('attestations')
          .selectAll()
          .where('move', '=', move)
          .orderBy('id', 'desc')
          .execute(),
      );
      return rows.map(toAttestation);
    },
  };
}

function toPolicy(row: Selectable<PoliciesTable>): PolicyRecord {
  const { id, text, digest, why, at } = row;
  return { id, policy: fromJson<Policy>(row.content), text, digest, by: row.set_by, why, at };
}

function toComposed(row: Selectable<ComposedVersionsTable>): ComposedRecord {
  return { ...fromJson<ComposedVersion>(row.content), id: row.id, at: row.at };
}

function toAttestation(row: Selectable<AttestationsTable>): MoveAttestation {
  const { id, move, digest, envelope, at } = row;
  return { id, move, digest, predicateType: row.predicate_type, envelope, at };
}
