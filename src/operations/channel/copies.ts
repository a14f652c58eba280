// Before a channel moves, the galleries that stand for it get the version: the tested one itself, compared with what was
// tested. What they then have is not undone with the promotion: it is costly, and nothing points at it.
import { standsFor } from '../../domain/gallery/latest.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import type { OperationDeps } from '../common/deps.ts';
import { checkMayGo, recordTarget } from '../gallery/copy-target.ts';
import { beginCopy, checkCopy, dropHalfCopy, finishCopy } from '../gallery/copy-version.ts';
import { channelTarget } from './target.ts';

export interface ChannelInput {
  readonly channel: string;
}

/** The galleries that versions must be in before the channel moves to them. */
export async function galleriesOf(
  deps: Pick<OperationDeps, 'galleryBook'>,
  channel: string,
): Promise<readonly GalleryRecord[]> {
  return (await deps.galleryBook.list()).filter((gallery) => standsFor(gallery, channel));
}

/** One sentence for each gallery. Throws what the copy would be refused with. */
export async function planCopies(
  deps: OperationDeps,
  channel: string,
  version: VersionRecord,
  when: 'first' | 'then' = 'first',
): Promise<readonly string[]> {
  const planned: string[] = [];
  for (const gallery of await galleriesOf(deps, channel)) {
    const where = { image: version.image, channel };
    const target = await channelTarget(deps, gallery, where, AbortSignal.timeout(60_000));
    await checkMayGo(deps, target, version);
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

/** Copies it there with as many copies as the channel needs; what is there is compared. */
export async function copyTo(
  deps: OperationDeps,
  gallery: GalleryRecord,
  { channel, version }: { readonly channel: string; readonly version: VersionRecord },
  context: StepContext<unknown>,
): Promise<Json> {
  const target = await channelTarget(deps, gallery, { image: version.image, channel }, context.signal);
  await beginCopy(deps, target, version, context);
  await finishCopy(deps, target, version, context);
  const { regions, compared } = await checkCopy(deps, target, version, context, false);
  return { gallery: gallery.name, regions: [...regions], compared };
}

export function copiesStep<Input extends ChannelInput>(
  deps: OperationDeps,
  versionOf: (context: StepContext<Input>) => Promise<VersionRecord>,
): WorkStep<Input> {
  return {
    name: 'copies',
    async do(context) {
      const version = await versionOf(context);
      const { channel } = context.input;
      const done: Json[] = [];
      for (const gallery of await galleriesOf(deps, channel)) {
        done.push(await copyTo(deps, gallery, { channel, version }, context));
      }
      return { galleries: done };
    },
    async undo(context) {
      const version = await versionOf(context);
      for (const gallery of await galleriesOf(deps, context.input.channel)) {
        await dropHalfCopy(deps, recordTarget(deps, gallery), version, context);
      }
      return 'kept';
    },
  };
}
