// Models of pools, kept by their content for the nodes that were made from them.
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { PoolModel } from '../../ports/provider/pools.ts';
import type { World } from './state-file.ts';

/** Keeps the model under its hash. The same content has the same hash, whatever the order of its tags. */
export function keepModel(world: World, model: PoolModel): string {
  const text = canonicalJson({ ...model });
  const hash = createHash('sha256').update(text).digest('hex');
  world.run('INSERT OR IGNORE INTO model VALUES (?, ?)', hash, text);
  return hash;
}

export function readModel(world: World, hash: string): PoolModel {
  const row = world.get<{ model: string }>('SELECT model FROM model WHERE hash = ?', hash);
  if (row === undefined) throw new Error(`Model ${hash} is not kept.`);
  return JSON.parse(row.model) as PoolModel;
}

export function sameModel(a: PoolModel, b: PoolModel): boolean {
  return canonicalJson({ ...a }) === canonicalJson({ ...b });
}

/** Whether a disk made from one is a disk made from the other. */
export function sameImage(a: PoolModel, b: PoolModel): boolean {
  return a.gallery === b.gallery && a.image === b.image && a.version === b.version && a.digest === b.digest;
}
