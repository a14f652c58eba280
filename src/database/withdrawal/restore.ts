// Lifting a withdrawal: the version, and what had inherited it, are again what they were, unless something else
// keeps them out. Channels stay where they went.
import { type Kysely, sql } from 'kysely';
import { testsPassed } from '../../domain/evidence/evidence.ts';
import type { VersionRecord } from '../../domain/image/record.ts';
import { type RestorableState, restoredState } from '../../domain/image/version-state.ts';
import { liftable, standingWithdrawal, type Withdrawal } from '../../domain/withdrawal/withdrawal.ts';
import type { RestoreOutcome } from '../../ports/database/lifecycle.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { moveLatest } from '../catalog/channels.ts';
import type { CatalogueContext } from '../catalog/context.ts';
import { listEvidence } from '../catalog/evidence.ts';
import { requireVersion } from '../catalog/lookup.ts';
import { versions, withdrawals } from '../catalog/records.ts';
import type { Change } from '../connection/database.ts';
import type { Tables } from '../connection/tables.ts';
import { lockImages } from './apply.ts';
import { readWithdrawals } from './rows.ts';

interface RestoreChange {
  readonly by: string;
  readonly why: string;
  readonly operation: string;
}

export function restoreVersion(
  context: CatalogueContext,
  name: VersionName,
  author: RestoreChange,
): Promise<RestoreOutcome> {
  return context.database.write(async (change) => {
    const { tables } = change;
    const heirs = await readHeirs(tables, name);
    await lockImages(change, [name.image, ...heirs.map(({ image }) => image)]);
    const row = await requireVersion(tables, name.image, name.version);
    const all = await readWithdrawals(tables, name);
    if (all.some(({ liftedOperation }) => liftedOperation === author.operation)) {
      return outcome(tables, name, await readRestored(tables, author.operation));
    }
    const causes = await readCauses(tables, all);
    const lifted = liftable(
      `${name.image}:${name.version}`,
      row.state,
      all,
      (cause) => causes.get(cause) ?? '?',
    );
    const at = context.stamp();
    const ids = lifted.map(({ id }) => id);
    if (ids.length > 0) {
      await tables
        .updateTable('withdrawals')
        .set({
          lifted_at: at,
          lifted_by: author.by,
          lifted_why: author.why,
          lifted_operation: author.operation,
        })
        .where((line) => line.or([line('id', 'in', ids), line('cause', 'in', ids)]))
        .where('lifted_at', 'is', null)
        .execute();
    }
    const restored: VersionName[] = [];
    for (const version of [name, ...(await readHeirs(tables, name, ids))]) {
      if (await bringBack(change, version)) restored.push(version);
    }
    for (const image of new Set(restored.map((version) => version.image))) {
      await moveLatest(context, change, image, author);
    }
    const { image, version } = name;
    change.emit({
      type: 'withdrawal.lifted',
      subject: `image/${image}`,
      data: { version, by: author.by, why: author.why },
    });
    return outcome(tables, name, restored);
  });
}

/** Versions that inherited from a withdrawal of this one; of the given ones, or of all that are live. */
async function readHeirs(
  tables: Kysely<Tables>,
  { image, version }: VersionName,
  causes?: readonly number[],
): Promise<readonly VersionName[]> {
  const found = await sql<VersionName>`
    select distinct heir.image, heir.version
    from imago.withdrawals root join imago.withdrawals heir on heir.cause = root.id
    where root.image = ${image} and root.version = ${version}
      and case when ${causes === undefined} then heir.lifted_at is null
        else root.id = any(${causes ?? []}::bigint[]) end
    order by 1, 2`.execute(tables);
  return found.rows;
}

/** What an earlier call of the operation brought back. */
async function readRestored(tables: Kysely<Tables>, operation: string): Promise<readonly VersionName[]> {
  const found = await sql<VersionName>`
    select distinct v.image, v.version from imago.withdrawals w join imago.versions v using (image, version)
    where w.lifted_operation = ${operation} and v.state not in ('withdrawn', 'deleted')
    order by 1, 2`.execute(tables);
  return found.rows;
}

async function readCauses(
  tables: Kysely<Tables>,
  known: readonly Withdrawal[],
): Promise<ReadonlyMap<number, string>> {
  const ids = known.flatMap(({ cause }) => (cause === undefined ? [] : [cause]));
  if (ids.length === 0) return new Map();
  const causes = await withdrawals.all(tables, { id: ids });
  return new Map(causes.map(({ id, image, version }) => [id, `${image}:${version}`]));
}

/** `false` if something else keeps it out. One whose tests failed in the meantime must be tested again. */
async function bringBack({ tables, emit }: Change, name: VersionName): Promise<boolean> {
  const { image, version } = name;
  const row = await requireVersion(tables, image, version);
  if (row.state !== 'withdrawn') return false;
  const standing = standingWithdrawal(await readWithdrawals(tables, name));
  if (standing !== undefined) {
    await versions.update(tables, { image, version }, { reason: standing.reason });
    return false;
  }
  const state = await usableState(tables, row);
  await versions.update(tables, { image, version }, { state, reason: null, withdrawn_from: null });
  emit({ type: 'version.state', subject: `image/${image}`, data: { version, state, before: 'withdrawn' } });
  return true;
}

async function usableState(tables: Kysely<Tables>, row: VersionRecord): Promise<RestorableState> {
  const state = restoredState(row);
  if (state !== 'available') return state;
  return testsPassed(row.digest, await listEvidence(tables, row.digest)) ? state : 'candidate';
}

/** Channels that a withdrawal took off the version and that have not come back. */
async function outcome(
  tables: Kysely<Tables>,
  name: VersionName,
  restored: readonly VersionName[],
): Promise<RestoreOutcome> {
  const { image, version } = name;
  const left = await sql<{ image: string; channel: string; now: string | null }>`
    select distinct c.image, c.name as channel, c.version as now
    from imago.withdrawals w
    join imago.channel_moves m on m.operation = w.operation and m.image = w.image and m.from_version = w.version
    join imago.channels c on c.image = m.image and c.name = m.channel
    where w.image = ${image} and w.version = ${version} and not c.managed
      and c.version is distinct from ${version}
    order by 2`.execute(tables);
  return { version: await requireVersion(tables, image, version), restored, left: left.rows };
}
