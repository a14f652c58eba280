// After a withdrawal, channels point at what they went back to, and the galleries that stand for them may lack it. It
// is copied there afterwards: the withdrawal waits for no gallery. One that fails is named, and a retry copies to it
// alone.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { ChannelRecord } from '../../ports/database/catalog.ts';
import type { GalleryRecord } from '../../ports/database/galleries.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { copyTo, galleriesOf } from '../channel/copies.ts';
import { requireVersion } from '../channel/promote.ts';
import type { OperationDeps } from '../common/deps.ts';
import { recordTarget } from '../gallery/copy-target.ts';
import { dropHalfCopy } from '../gallery/copy-version.ts';

export interface FallbackCopies {
  readonly copied: readonly Json[];
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

const stepName = 'copies';
/** More than all tries of a gallery take, so that time alone does not end what replaces the nodes meanwhile. */
const timeoutMs = 48 * 3_600_000;

export function fallbackCopiesStep<Input>(
  deps: OperationDeps,
  versionsOf: (context: StepContext<Input>) => readonly VersionName[],
): WorkStep<Input> {
  return {
    name: stepName,
    timeoutMs,
    async do(context) {
      const done: FallbackCopies[] = [];
      for (const channel of await fallenChannels(deps, versionsOf(context))) {
        const galleries = await galleriesOf(deps, channel.name);
        done.push(...(await Promise.all(galleries.map((gallery) => copy(deps, gallery, channel, context)))));
      }
      return {
        copied: done.flatMap(({ copied }) => copied),
        failed: done.flatMap(({ failed }) => failed),
      };
    },
    /** The withdrawal stands, and so does what is whole; what failed is left for a retry to go on with. */
    async undo(context) {
      if (context.result(stepName) !== undefined) return 'kept';
      for (const { image, name, version } of await fallenChannels(deps, versionsOf(context))) {
        const record = await requireVersion(deps, image, version);
        for (const gallery of await galleriesOf(deps, name)) {
          await dropHalfCopy(deps, recordTarget(deps, gallery), record, context);
        }
      }
      return 'kept';
    },
  };
}

/** What the step left; nothing in an operation that an earlier Imago began. */
export function copiedFallbacks(context: StepContext<unknown>): FallbackCopies {
  const left = context.result<Json>(stepName) as unknown as FallbackCopies | undefined;
  return left ?? { copied: [], failed: [] };
}

async function copy(
  deps: OperationDeps,
  gallery: GalleryRecord,
  { image, name: channel, version: number }: FallenChannel,
  context: StepContext<unknown>,
): Promise<FallbackCopies> {
  try {
    const version = await requireVersion(deps, image, number);
    return { copied: [await copyTo(deps, gallery, { channel, version }, context)], failed: [] };
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (context.signal.aborted || error.code === 'owner-stale') throw thrown;
    const what = `${image}:${channel} went back to ${number}, which gallery ${gallery.name} does not have`;
    return { copied: [], failed: [`${what}: ${error.message}`] };
  }
}
