// A gallery as the target of a channel's versions: with as many copies in each region as the pools that follow the
// channel can start from at once, and no fewer than the gallery asks for.
import { replicasFor } from '../../domain/limits/limits.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { type CopyTarget, recordTarget } from '../gallery/copy-target.ts';

/** What a gallery takes of one version in one region. */
const mostReplicas = 100;

export async function channelTarget(
  deps: OperationDeps,
  record: GalleryRecord,
  { image, channel }: { readonly image: string; readonly channel: string },
  signal: AbortSignal,
): Promise<CopyTarget> {
  const target = recordTarget(deps, record);
  if (target.regions.length === 0) return target;
  const production = (await deps.catalogue.getChannel(image, channel))?.forTesting === false;
  const machines = await machinesByRegion(deps, target, { image, channel }, signal);
  const regions = target.regions.map(({ region, replicas }) => {
    const needed = Math.min(mostReplicas, replicasFor(machines.get(region) ?? 0, production));
    return { region, replicas: Math.max(replicas, needed) };
  });
  return { ...target, regions };
}

/** The nodes that the pools which follow the channel are to have: all of them may be made anew at once. */
async function machinesByRegion(
  deps: OperationDeps,
  { provider }: CopyTarget,
  { image, channel }: { readonly image: string; readonly channel: string },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const machines = new Map<string, number>();
  for (const pool of await deps.fleet.listFollowers(image, channel)) {
    const region = pool.region ?? provider.abilities.regions[0];
    if (pool.provider !== provider.name || region === undefined) continue;
    const there = await provider.pools?.getPool(pool.name, callOptions(deps, signal));
    machines.set(region, (machines.get(region) ?? 0) + (there?.capacity ?? 0));
  }
  return machines;
}
