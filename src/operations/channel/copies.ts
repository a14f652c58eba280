// Before a channel moves, its galleries get the version: the tested one itself, compared with what was tested. The copies
// are not undone with the promotion: they are costly, and nothing points at them.
import { standsFor } from '../../domain/gallery/latest.ts';
import { replicasFor } from '../../domain/limits/limits.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { Calls, OperationDeps } from '../common/deps.ts';
import type { NamedStep, Run } from '../common/operation.ts';
import { type CopyTarget, checkMayGo, recordTarget } from '../gallery/copy-target.ts';
import { type CheckedCopy, type Copying, dropHalfCopy, ensureCopy } from '../gallery/copy-version.ts';

/** The galleries that versions must be in before the channel moves to them. */
export async function galleriesOf(
  deps: Pick<OperationDeps, 'galleryBook'>,
  channel: string,
): Promise<readonly GalleryRecord[]> {
  return (await deps.galleryBook.list()).filter((gallery) => standsFor(gallery, channel));
}

/** One sentence for each gallery. Throws what the copy would be refused with. */
export async function planCopies(
  run: Calls,
  channel: string,
  version: VersionRecord,
  when: 'first' | 'then' = 'first',
): Promise<readonly string[]> {
  const planned: string[] = [];
  for (const gallery of await galleriesOf(run, channel)) {
    const target = await channelTarget(run, gallery, { image: version.image, channel });
    await checkMayGo(run, target, version);
    const regions = target.regions.map(({ region, replicas }) => `${replicas} in ${region}`);
    const copies = regions.length === 0 ? '' : ` (${regions.join(', ')})`;
    const name = `gallery ${gallery.name}`;
    planned.push(
      when === 'first'
        ? `Copy it to ${name} first${copies}.`
        : `Then copy ${version.image}:${version.version} to ${name}${copies}, unless it has it.`,
    );
  }
  return planned;
}

/** Copies it there with as many replicas as the channel needs; an existing copy is compared. */
export async function copyTo(
  run: Copying,
  gallery: GalleryRecord,
  channel: string,
  version: VersionRecord,
): Promise<CheckedCopy> {
  return ensureCopy(run, await channelTarget(run, gallery, { image: version.image, channel }), version);
}

export async function dropHalfCopies(run: Copying, channel: string, version: VersionRecord): Promise<'kept'> {
  for (const gallery of await galleriesOf(run, channel)) {
    await dropHalfCopy(run, recordTarget(run, gallery), version);
  }
  return 'kept';
}

export function copiesStep<Input extends { readonly channel: string }, Results>(
  versionOf: (run: Run<Input, Results>) => Promise<VersionRecord>,
): NamedStep<'copies', Input, Results, { readonly galleries: readonly CheckedCopy[] }> {
  return {
    name: 'copies',
    async do(run) {
      const version = await versionOf(run);
      const { channel } = run.input;
      const galleries: CheckedCopy[] = [];
      for (const gallery of await galleriesOf(run, channel)) {
        galleries.push(await copyTo(run, gallery, channel, version));
      }
      return { galleries };
    },
    undo: async (run) => dropHalfCopies(run, run.input.channel, await versionOf(run)),
  };
}

interface ImageChannel {
  readonly image: string;
  readonly channel: string;
}

/** The maximum for one version in one region. */
const maxReplicas = 100;

/**
 * The gallery as a target for the channel's versions: with as many replicas in each region as the pools that follow the
 * channel can start from concurrently, and no fewer than the gallery asks for.
 */
async function channelTarget(
  run: Calls,
  record: GalleryRecord,
  { image, channel }: ImageChannel,
): Promise<CopyTarget> {
  const target = recordTarget(run, record);
  if (target.regions.length === 0) return target;
  const production = (await run.catalogue.getChannel(image, channel))?.forTesting === false;
  const machines = await machinesByRegion(run, target, { image, channel });
  const regions = target.regions.map(({ region, replicas }) => {
    const needed = Math.min(maxReplicas, replicasFor(machines.get(region) ?? 0, production));
    return { region, replicas: Math.max(replicas, needed) };
  });
  return { ...target, regions };
}

/** The capacity of the pools that follow the channel: all of their nodes may be replaced concurrently. */
async function machinesByRegion(
  run: Calls,
  { provider }: CopyTarget,
  { image, channel }: ImageChannel,
): Promise<ReadonlyMap<string, number>> {
  const machines = new Map<string, number>();
  for (const pool of await run.fleet.listFollowers(image, channel)) {
    const region = pool.region ?? provider.abilities.regions[0];
    if (pool.provider !== provider.name || region === undefined) continue;
    const seen = await provider.pools?.getPool(pool.name, run.call);
    machines.set(region, (machines.get(region) ?? 0) + (seen?.capacity ?? 0));
  }
  return machines;
}
