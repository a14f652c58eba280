// Retention on PostgreSQL: the plan, and the deletion of one version in steps of which each looks again.
import { type Kysely, sql } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { hold as holdRecord } from '../../domain/retention/record.ts';
import {
  describeKeeper,
  type Keeper,
  planRetention,
  type RetentionPolicy,
} from '../../domain/retention/retention.ts';
import { checkReason } from '../../domain/withdrawal/withdrawal.ts';
import type { Retention } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { CatalogueContext } from '../catalog/context.ts';
import { imageNames, lockImage, requireVersion } from '../catalog/lookup.ts';
import { versions, withdrawals } from '../catalog/records.ts';
import { records } from '../connection/records.ts';
import type { Tables } from '../connection/tables.ts';
import { applyWithdrawal } from '../withdrawal/apply.ts';
import { restoreVersion } from '../withdrawal/restore.ts';
import { findAsked } from '../withdrawal/rows.ts';
import { readNeeds, readRetentionFacts } from './facts.ts';

const holds = records('holds', holdRecord, { by: 'held_by' });

/** How many images' facts are held in memory at a time. */
const imagesAtOnce = 8;

export function createRetention(context: CatalogueContext, now: () => number): Retention {
  const { database } = context;

  async function keepersOf(
    tables: Kysely<Tables>,
    name: VersionName,
    policy: RetentionPolicy,
  ): Promise<readonly Keeper[]> {
    const facts = await readRetentionFacts(tables, [name.image], await readNeeds(tables, name));
    const entries = planRetention(facts, policy, new Date(now()));
    const entry = entries.find(({ version }) => version === name.version);
    return entry?.keepers ?? [];
  }

  return {
    async *plan(image, policy) {
      const names = image === undefined ? [...(await database.read(imageNames))].sort() : [image];
      const scope = image === undefined ? {} : { image };
      const needs = await database.read((tables) => readNeeds(tables, scope));
      const uses = Map.groupBy(needs.uses, (use) => use.image);
      const moves = Map.groupBy(needs.moves, (move) => move.image);
      for (let start = 0; start < names.length; start += imagesAtOnce) {
        const some = names.slice(start, start + imagesAtOnce);
        const theirs = {
          uses: some.flatMap((name) => uses.get(name) ?? []),
          moves: some.flatMap((name) => moves.get(name) ?? []),
        };
        const facts = await database.read((tables) => readRetentionFacts(tables, some, theirs));
        yield planRetention(facts, policy, new Date(now()));
      }
    },

    async digests(exceptImage) {
      const found = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .select('digest')
          .distinct()
          .where('state', '!=', 'deleted')
          .$if(exceptImage !== undefined, (rows) => rows.where('image', '!=', exceptImage ?? ''))
          .execute(),
      );
      return new Set(found.map(({ digest }) => digest));
    },

    async disksInUse(disks) {
      const found = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .select('disk_digest')
          .distinct()
          .where('state', '!=', 'deleted')
          .where('disk_digest', '=', sql<string>`any(${disks}::text[])`)
          .execute(),
      );
      return new Set(found.map((row) => row.disk_digest));
    },

    condemn: (name, policy, { by, operation }) =>
      database.write(async (change) => {
        const { tables } = change;
        await lockImage(tables, name.image);
        const { state } = await requireVersion(tables, name.image, name.version);
        if (state === 'deleted' || (await findAsked(tables, { ...name, operation })) !== undefined) return [];
        const keepers = await keepersOf(tables, name, policy);
        if (keepers.length > 0 || state === 'withdrawn') return keepers;
        const at = context.stamp();
        const asked = withdrawals.row({
          ...{ image: name.image, version: name.version, withDescendants: false, operation, by },
          ...{ reason: 'It is being deleted, because nothing needs it.', effectiveAt: at, at },
        });
        await applyWithdrawal(context, change, await withdrawals.insert(tables, asked));
        return [];
      }),

    async reprieve(name, change) {
      const asked = await database.read(async (tables) => {
        const { state } = await requireVersion(tables, name.image, name.version);
        if (state === 'deleted') return undefined;
        return findAsked(tables, { ...name, operation: change.operation });
      });
      if (asked === undefined || asked.liftedAt !== undefined) return;
      await restoreVersion(context, name, { ...change, operation: `${change.operation} reprieve` });
    },

    usedBy: (name) =>
      database.read(async (tables) =>
        (await keepersOf(tables, name, {})).filter(({ kind }) => kind !== 'newest'),
      ),

    finish: (name, by) =>
      database.write(async ({ tables, emit }) => {
        const { image, version } = name;
        await lockImage(tables, image);
        const row = await requireVersion(tables, image, version);
        if (row.state === 'deleted') return;
        const keepers = (await keepersOf(tables, name, {})).filter(({ kind }) => kind !== 'newest');
        if (keepers.length > 0 || row.state !== 'withdrawn') throw needed(name, row.state, keepers);
        await versions.update(tables, { image, version }, { state: 'deleted', withdrawn_from: null });
        emit({
          type: 'version.state',
          subject: `image/${image}`,
          data: { version, state: 'deleted', before: row.state, by },
        });
      }),

    hold: (name, reason, by) =>
      database.write(async ({ tables, emit }) => {
        const { image, version } = name;
        const why = checkReason(`${image}:${version}`, reason);
        await lockImage(tables, image);
        const { state } = await requireVersion(tables, image, version);
        if (state === 'deleted') {
          throw new ImagoError('version-state', `${image}:${version} was deleted and cannot be held.`);
        }
        const row = await tables
          .insertInto('holds')
          .values({ image, version, reason: why, held_by: by, at: context.stamp() })
          .onConflict((conflict) =>
            conflict.columns(['image', 'version']).doUpdateSet({ reason: why, held_by: by }),
          )
          .returningAll()
          .executeTakeFirstOrThrow();
        emit({ type: 'version.held', subject: `image/${image}`, data: { version, reason: why, by } });
        return holds.of(row);
      }),

    release: ({ image, version }, by) =>
      database.write(async ({ tables, emit }) => {
        const existed = await holds.delete(tables, { image, version });
        if (existed) emit({ type: 'version.released', subject: `image/${image}`, data: { version, by } });
        return existed;
      }),

    getHold: ({ image, version }) => database.read((tables) => holds.find(tables, { image, version })),
  };
}

function needed({ image, version }: VersionName, state: string, keepers: readonly Keeper[]): ImagoError {
  const why = keepers.length === 0 ? `it is ${state}` : keepers.map(describeKeeper).join(', ');
  return new ImagoError('version-needed', `${image}:${version} cannot be deleted: ${why}.`);
}
