// Policies, composed versions and signed statements on PostgreSQL: appended, never changed.
import type { Selectable } from 'kysely';
import { attestation } from '../domain/channel/attestation.ts';
import type { ComposedRecord, ComposedVersion } from '../domain/evidence/record.ts';
import { storedPolicy } from '../domain/policy/schema.ts';
import type { Json } from '../domain/value/json.ts';
import { stampAfter, toIso } from '../domain/value/time.ts';
import type { Promotion } from '../ports/database/promotion.ts';
import type { Database } from './connection/database.ts';
import { fromJson, storableText, toJson } from './connection/json.ts';
import { lockName } from './connection/locks.ts';
import { records } from './connection/records.ts';
import type { Tables } from './connection/tables.ts';

const policies = records('policies', storedPolicy, { by: 'set_by', policy: 'content' });
const attestations = records('attestations', attestation);

export interface PromotionOptions {
  /** Milliseconds since 1970; it may stand still or run backwards. */
  readonly now?: () => number;
}

export function createPromotion(database: Database, { now = Date.now }: PromotionOptions = {}): Promotion {
  return {
    getPolicy: () => database.read((tables) => policies.last(tables, {}, 'id')),

    setPolicy: (policy) =>
      database.write(async ({ tables, emit }) => {
        await lockName('policy', '').execute(tables);
        const last = await policies.last(tables, {}, 'id');
        if (last?.digest === policy.digest) return last;
        const at = stampAfter(new Date(now()), last?.at);
        const row = policies.row({ ...policy, text: storableText(policy.text), at });
        const added = await policies.insert(tables, row);
        const { id, digest, by, why } = added;
        emit({ type: 'policy.set', subject: 'policy', data: { id, digest, by, why } });
        return added;
      }),

    listPolicies: (query) =>
      database.read((tables) => policies.page(tables, query, { by: { id: 'number' }, newestFirst: true })),

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
        const newest = await attestations.last(tables, { move }, 'id');
        if (newest !== undefined && newest.id !== after) return newest;
        const added = { move, digest, predicateType, envelope, at: toIso(new Date(now())) };
        return attestations.insert(tables, attestations.row(added));
      }),

    listAttestations: async (move) =>
      (await database.read((tables) => attestations.all(tables, { move }, 'id'))).toReversed(),
  };
}

function toComposed(row: Selectable<Tables['composed_versions']>): ComposedRecord {
  return { ...fromJson<ComposedVersion>(row.content), id: row.id, at: row.at };
}
