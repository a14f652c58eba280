// Before a channel moves, the galleries that stand for it get the version: the tested one itself, compared with what was
// tested. What they then have is not undone with the promotion: it is costly, and nothing points at it.
import { channelLine } from '../domain/channel-line.ts';
import type { Json } from '../domain/json.ts';
import type { VersionRecord } from '../ports/catalogue.ts';
import type { GalleryRecord } from '../ports/galleries.ts';
import type { StepContext, WorkStep } from '../ports/operation.ts';
import { channelTarget } from './channel-target.ts';
import { checkMayGo, recordTarget } from './copy-target.ts';
import { beginCopy, checkCopy, dropHalfCopy, finishCopy } from './copy-version.ts';
import type { OperationDeps } from './deps.ts';

export interface ChannelInput {
  readonly channel: string;
}

/**
 * The galleries that versions must be in before the channel moves to them. A channel of one Kubernetes version has
 * those of the channel whose place it takes, and its own.
 */
export async function galleriesOf(deps: OperationDeps, channel: string): Promise<readonly GalleryRecord[]> {
  const names = [channel, channelLine(channel)?.base];
  return (await deps.galleryBook.list()).filter(({ channels }) =>
    channels.some((name) => names.includes(name)),
  );
}

/** One sentence for each gallery. Throws what the copy would be refused with. */
export async function planCopies(
  deps: OperationDeps,
  channel: string,
  version: VersionRecord,
): Promise<readonly string[]> {
  const planned: string[] = [];
  for (const gallery of await galleriesOf(deps, channel)) {
    const where = { image: version.image, channel };
    const target = await channelTarget(deps, gallery, where, AbortSignal.timeout(60_000));
    await checkMayGo(deps, target, version);
    const regions = target.regions.map(({ region, replicas }) => `${replicas} in ${region}`);
    const copies = regions.length === 0 ? '' : ` (${regions.join(', ')})`;
    planned.push(`Copy it to gallery ${gallery.name} first${copies}.`);
  }
  return planned;
}

export function copiesStep<Input extends ChannelInput>(
  deps: OperationDeps,
  versionOf: (context: StepContext<Input>) => Promise<VersionRecord>,
): WorkStep<Input> {
  return {
    name: 'copies',
    async do(context) {
      const version = await versionOf(context);
      const done: Json[] = [];
      const { channel } = context.input;
      for (const gallery of await galleriesOf(deps, channel)) {
        const where = { image: version.image, channel };
        const target = await channelTarget(deps, gallery, where, context.signal);
        await beginCopy(deps, target, version, context);
        await finishCopy(deps, target, version, context);
        const { regions, compared } = await checkCopy(deps, target, version, context, false);
        done.push({ gallery: gallery.name, regions: [...regions], compared });
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
