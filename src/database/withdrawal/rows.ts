// Withdrawals between their rows and their records, and the reading that the writes share.
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Withdrawal } from '../../domain/withdrawal/withdrawal.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { optional } from '../connection/json.ts';
import type { Tables, WithdrawalsTable } from '../connection/tables.ts';
import { nameLists } from '../lineage/rows.ts';

export function toWithdrawal(row: Selectable<WithdrawalsTable>): Withdrawal {
  return {
    id: row.id,
    image: row.image,
    version: row.version,
    ...optional('cause', row.cause),
    reason: row.reason,
    withDescendants: row.with_descendants,
    effectiveAt: row.effective_at,
    by: row.asked_by,
    operation: row.operation,
    at: row.at,
    ...optional('appliedAt', row.applied_at),
    ...optional('liftedAt', row.lifted_at),
    ...optional('liftedBy', row.lifted_by),
    ...optional('liftedWhy', row.lifted_why),
    ...optional('liftedOperation', row.lifted_operation),
  };
}

/** Oldest first. */
export async function readWithdrawals(
  tables: Kysely<Tables>,
  { image, version }: VersionName,
): Promise<readonly Withdrawal[]> {
  const rows = await tables
    .selectFrom('withdrawals')
    .selectAll()
    .where('image', '=', image)
    .where('version', '=', version)
    .orderBy('id')
    .execute();
  return rows.map(toWithdrawal);
}

/** Of many versions at once, by `NAME:VERSION`. */
export async function readWithdrawalsOf(
  tables: Kysely<Tables>,
  versions: readonly VersionName[],
): Promise<ReadonlyMap<string, readonly Withdrawal[]>> {
  const { images, numbers } = nameLists(versions);
  const found = await sql<Selectable<WithdrawalsTable>>`
    select w.* from unnest(${images}::text[], ${numbers}::text[]) as given (image, version)
    join imago.withdrawals w using (image, version) order by w.id`.execute(tables);
  return Map.groupBy(found.rows.map(toWithdrawal), ({ image, version }) => `${image}:${version}`);
}

/** The one that an operation asked for; `undefined` when it has not yet. */
export async function findAsked(
  tables: Kysely<Tables>,
  { image, version, operation }: VersionName & { readonly operation: string },
): Promise<Selectable<WithdrawalsTable> | undefined> {
  return tables
    .selectFrom('withdrawals')
    .selectAll()
    .where('operation', '=', operation)
    .where('image', '=', image)
    .where('version', '=', version)
    .where('cause', 'is', null)
    .executeTakeFirst();
}
