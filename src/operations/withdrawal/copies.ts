// After a withdrawal, channels point at an earlier version, which their galleries may not have. It is copied there
// afterwards: the withdrawal waits for no gallery. One that fails is reported, and a retry copies only to it.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { ChannelRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { copyTo, dropHalfCopies, galleriesOf } from '../channel/copies.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { NamedStep, Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import type { CheckedCopy } from '../gallery/copy-version.ts';

export interface FallbackCopies {
  readonly copied: readonly CheckedCopy[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

type FallenChannel = ChannelRecord & { readonly version: string };

/** The channels whose last move took them off one of these versions. A retry finds the same. */
export async function fallenChannels(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  versions: readonly VersionName[],
): Promise<readonly FallenChannel[]> {
  const fallen: FallenChannel[] = [];
  for (const image of new Set(versions.map((name) => name.image))) {
    const out = new Set(versions.filter((name) => name.image === image).map(({ version }) => version));
    for (const channel of await catalogue.listChannels(image)) {
      if (channel.managed || channel.move === undefined || channel.version === undefined) continue;
      const move = await catalogue.getMove(channel.move);
      if (move?.from !== undefined && out.has(move.from)) {
        fallen.push({ ...channel, version: channel.version });
      }
    }
  }
  return fallen;
}

/** More than all tries of a gallery take, so that time alone does not end what replaces the nodes concurrently. */
const timeoutMs = 48 * 3_600_000;

export function fallbackCopiesStep<Input, Results>(
  versionsOf: (run: Run<Input, Results>) => readonly VersionName[],
): NamedStep<'copies', Input, Results, FallbackCopies> {
  return {
    name: 'copies',
    timeoutMs,
    async do(run) {
      const done: FallbackCopies[] = [];
      for (const channel of await fallenChannels(run, versionsOf(run))) {
        const galleries = await galleriesOf(run, channel.name);
        done.push(...(await Promise.all(galleries.map((gallery) => copy(run, gallery, channel)))));
      }
      return {
        copied: done.flatMap(({ copied }) => copied),
        failed: done.flatMap(({ failed }) => failed),
      };
    },
    /** The withdrawal stays, and so do complete copies; what failed is left for a retry. */
    async undo(run) {
      if ((run as Run<Input, { readonly copies: FallbackCopies }>).maybe('copies') !== undefined)
        return 'kept';
      for (const { image, name, version } of await fallenChannels(run, versionsOf(run))) {
        await dropHalfCopies(run, name, await requireVersion(run, image, version));
      }
      return 'kept';
    },
  };
}

async function copy(
  run: Run,
  gallery: GalleryRecord,
  { image, name: channel, version: number }: FallenChannel,
): Promise<FallbackCopies> {
  try {
    const version = await requireVersion(run, image, number);
    return { copied: [await copyTo(run, gallery, channel, version)], failed: [] };
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (run.signal.aborted || error.code === 'owner-stale') throw thrown;
    const what = `${image}:${channel} went back to ${number}, which gallery ${gallery.name} does not have`;
    return { copied: [], failed: [`${what}: ${error.message}`] };
  }
}
