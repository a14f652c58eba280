// Who runs what is withdrawn: the pools, and their nodes by name, so that people know whom to look after.
import type { PoolUse, VersionName } from '../../ports/database/lineage.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';

export interface AffectedPool extends PoolUse {
  /** Of the live nodes that run it, in order. */
  readonly names: readonly string[];
}

export async function affectedPools(
  { lifecycle: { lineage } }: Pick<OperationDeps, 'lifecycle'>,
  versions: readonly VersionName[],
): Promise<readonly AffectedPool[]> {
  const names = new Map<string, string[]>();
  for (const version of versions) {
    for await (const { pool, name } of allPages((query) => lineage.nodes(version, false, query))) {
      const known = names.get(pool);
      if (known === undefined) names.set(pool, [name]);
      else known.push(name);
    }
  }
  return (await lineage.poolsOf(versions)).map((use) => ({
    ...use,
    names: (names.get(use.pool) ?? []).sort(),
  }));
}
