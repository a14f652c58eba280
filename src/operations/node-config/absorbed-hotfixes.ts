// Which hotfixes a new version makes unnecessary: nodes of its image got them by their config, and it has them by now.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { absorbedHotfixes } from '../../domain/node-config/hotfix.ts';
import type { HotfixConfig } from '../../domain/node-config/schema.ts';
import { readStoredConfig } from '../../domain/node-config/stored-config.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';

export interface AbsorbedHotfix {
  readonly name: string;
  readonly version: string;
}

/** Sorted, each once. Those that the previous version had already absorbed are not reported again. */
export async function hotfixesAbsorbedBy(
  deps: Pick<OperationDeps, 'fleet'>,
  image: string,
  lock: Pick<Lock, 'inputs'>,
  before: Pick<Lock, 'inputs'> | undefined,
): Promise<readonly AbsorbedHotfix[]> {
  const found = new Map<string, AbsorbedHotfix>();
  for await (const pool of allPages((query) => deps.fleet.listPools(query))) {
    if (pool.image !== image) continue;
    const sent = hotfixesOf(pool);
    const old = new Set(absorbedHotfixes(sent, before?.inputs ?? []));
    for (const hotfix of absorbedHotfixes(sent, lock.inputs)) {
      const { component: name, version } = hotfix;
      if (!old.has(hotfix)) found.set(`${name} ${version}`, { name, version });
    }
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, hotfix]) => hotfix);
}

/** A pool of an earlier Imago may hold anything: notes are not refused for its sake. */
function hotfixesOf({ nodeConfig }: PoolRecord): readonly HotfixConfig[] {
  try {
    return readStoredConfig(nodeConfig).hotfixes ?? [];
  } catch (thrown) {
    if (thrown instanceof ImagoError) return [];
    throw thrown;
  }
}
