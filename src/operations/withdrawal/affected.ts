// Finds the pools that a withdrawal affects, with their nodes by name, and the pools that still start nodes from a
// withdrawn version: a person must choose another image for those.
import { lineOfKubernetes } from '../../domain/channel/minor-channel.ts';
import type { PoolUse, VersionName } from '../../ports/database/lineage.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';

type Deps = Pick<OperationDeps, 'lifecycle' | 'fleet' | 'catalogue'>;

export interface AffectedPool extends PoolUse {
  /** The live nodes that run it, in order. */
  readonly names: readonly string[];
  /** The command that changes the model; present if the pool still starts nodes from a withdrawn version. */
  readonly change?: string;
}

/** Pools that still start nodes from a withdrawn version come first. `emptied`: channels that will be empty by then. */
export async function affectedPools(
  deps: Deps,
  versions: readonly VersionName[],
  emptied: ReadonlySet<string> = new Set(),
): Promise<readonly AffectedPool[]> {
  const { lineage } = deps.lifecycle;
  const names = new Map<string, string[]>();
  for (const version of versions) {
    for await (const { pool, name } of allPages((query) => lineage.nodes(version, false, query))) {
      const known = names.get(pool);
      if (known === undefined) names.set(pool, [name]);
      else known.push(name);
    }
  }
  const pools: AffectedPool[] = [];
  for (const use of await lineage.poolsOf(versions)) {
    const change = await changeCommand(deps, use, versions, emptied);
    pools.push({
      ...use,
      names: (names.get(use.pool) ?? []).sort(),
      ...(change === undefined ? {} : { change }),
    });
  }
  return pools.sort((a, b) => Number(b.change !== undefined) - Number(a.change !== undefined));
}

/** Returns the command that changes the pool's model; `undefined` if the model moves on with its channel. */
export async function changeCommand(
  deps: Deps,
  { pool, model, follows }: PoolUse,
  out: readonly VersionName[],
  emptied: ReadonlySet<string> = new Set(),
): Promise<string | undefined> {
  const record = model ? await deps.fleet.getPool(pool) : undefined;
  if (record === undefined) return undefined;
  const { image, version } = record.base ?? record;
  if (follows !== undefined && !emptied.has(`${image}:${follows}`)) {
    if ((await deps.catalogue.getChannel(image, follows))?.version !== undefined) return undefined;
  }
  return `imago pool set-image ${pool} --image ${image}:${await replacement(deps, { image, version }, out)}`;
}

export function stillStarts(pool: string, change: string): string {
  return `Pool ${pool} still starts nodes from a withdrawn version. Change it with \`${change}\`.`;
}

/** The newest available version with the same Kubernetes minor version; `VERSION` if there is none. */
async function replacement(
  { catalogue }: Deps,
  { image, version }: VersionName,
  out: readonly VersionName[],
): Promise<string> {
  const gone = new Set(out.map((name) => `${name.image}:${name.version}`));
  const line = (kubernetes: string | undefined) => kubernetes && lineOfKubernetes(kubernetes);
  const wanted = line((await catalogue.getVersion(image, version))?.kubernetes);
  for await (const other of allPages((query) => catalogue.listVersions(image, query))) {
    if (other.state !== 'available' || gone.has(`${image}:${other.version}`)) continue;
    if (line(other.kubernetes) === wanted) return other.version;
  }
  return 'VERSION';
}
