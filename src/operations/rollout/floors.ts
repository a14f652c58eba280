// Finds the versions that the nodes of a pool must pass through before a rollout moves them to its target.
import { floorsOf } from '../../domain/policy/policy.ts';
import { floorsBetween } from '../../domain/rollout/floors.ts';
import { ancestorsOf } from '../image/ancestors.ts';
import { resolveUsable } from '../image/resolve-step.ts';
import { openPool } from '../node/pool-nodes.ts';
import { seePool } from './observe.ts';
import { findTarget, type RolloutReading } from './target.ts';

/**
 * Returns them as NAME:VERSION, lowest first. Captured versions count as the version that they descend from. Throws
 * `version-withdrawn` or `version-not-found` if one can no longer be used.
 */
export async function findFloors(run: RolloutReading): Promise<readonly string[]> {
  if (run.input.undo) return [];
  const access = await openPool(run, run.input.name);
  const { image, version } = await findTarget(run, access.pool);
  const floors = floorsOf((await run.promotion.getPolicy())?.policy, image);
  if (floors.length === 0) return [];
  const { nodes } = await seePool(access);
  const versions: string[] = [];
  for (const one of new Map(
    [...nodes.values()].map((node) => [`${node.image}:${node.version}`, node]),
  ).values()) {
    const made = await run.catalogue.getVersion(one.image, one.version);
    const line = made && [made, ...(await ancestorsOf(run, made))].find((known) => known.image === image);
    if (line !== undefined) versions.push(line.version);
  }
  const through = floorsBetween(floors, versions, version).map((floor) => `${image}:${floor}`);
  for (const reference of through) await resolveUsable(run, reference);
  return through;
}
