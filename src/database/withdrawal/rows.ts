// The reading of withdrawals that the writes share.
import { type Kysely, type Selectable, sql } from 'kysely';
import type { Withdrawal } from '../../domain/withdrawal/record.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { withdrawals } from '../catalog/records.ts';
import type { Tables, WithdrawalsTable } from '../connection/tables.ts';
import { nameLists } from '../lineage/rows.ts';

/** Oldest first. */
export function readWithdrawals(
  tables: Kysely<Tables>,
  { image, version }: VersionName,
): Promise<readonly Withdrawal[]> {
  return withdrawals.all(tables, { image, version }, 'id');
}

/** The withdrawals of many versions, by `NAME:VERSION`. */
export async function readWithdrawalsOf(
  tables: Kysely<Tables>,
  versions: readonly VersionName[],
): Promise<ReadonlyMap<string, readonly Withdrawal[]>> {
  const { images, numbers } = nameLists(versions);
  const found = await sql<Selectable<WithdrawalsTable>>`
    select w.* from unnest(${images}::text[], ${numbers}::text[]) as given (image, version)
    join imago.withdrawals w using (image, version) order by w.id`.execute(tables);
  return Map.groupBy(found.rows.map(withdrawals.of), ({ image, version }) => `${image}:${version}`);
}

/** The one that an operation asked for; `undefined` if it has not yet. */
export function findAsked(
  tables: Kysely<Tables>,
  { image, version, operation }: VersionName & { readonly operation: string },
): Promise<Withdrawal | undefined> {
  return withdrawals.find(tables, { operation, image, version, cause: null });
}
