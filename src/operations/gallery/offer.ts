// Whether a gallery offers a copy as its own `latest`: starting to change it, and waiting until it reads back so.
import { answerDeadline } from '../../async/deadline.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { GalleryVersion } from '../../ports/provider/gallery.ts';
import { settle } from '../../workflow/poll-until.ts';
import { digestTag } from './copy-compare.ts';
import type { KnownGallery } from './galleries.ts';

/** Azure takes 150 s for such a change. */
const deadlineMs = 15 * 60_000;

/** How long one may be silent before it is given up, by our own clock: a call that hangs settles nothing. */
const silentMs = 2 * 60_000;
const settleSilentMs = deadlineMs + silentMs;

export interface OfferChange extends VersionName {
  readonly offered: boolean;
  /** Something else under the same number, which people put there, is left alone. */
  readonly digest?: string | undefined;
}

/**
 * Starts the change, unless it is so already (`so`). `absent` when the gallery does not have the version, `making` while
 * it cannot be changed because it is still being made.
 */
export async function startOffer(
  { gallery, name }: KnownGallery,
  { image, version, offered, digest }: OfferChange,
  call: CallOptions,
): Promise<'so' | 'started' | 'making' | 'absent'> {
  const options = answered(`Gallery ${name}`, call);
  const now = await gallery.getVersion(image, version, options);
  if (now === undefined || now.state === 'deleting') return 'absent';
  if (digest !== undefined && now.tags[digestTag] !== digest) return 'absent';
  if (isSo(now, offered)) return 'so';
  if (now.state === 'creating') return 'making';
  const excludeFromLatest = !offered;
  const regions = now.regions.map(({ region, replicas }) => ({ region, replicas, excludeFromLatest }));
  await gallery.updateVersion(image, version, { excludeFromLatest, regions }, options);
  return 'started';
}

/** Waits until it is so. A version that is gone meanwhile is left out for good. */
export async function settleOffer(
  { gallery, provider, name }: KnownGallery,
  { image, version, offered }: OfferChange,
  call: CallOptions,
): Promise<void> {
  const options = answered(`Gallery ${name}`, call, settleSilentMs);
  await settle(
    async () => {
      const now = await gallery.getVersion(image, version, options);
      return now === undefined || isSo(now, offered) ? true : undefined;
    },
    {
      ...{ clock: provider.clock, signal: options.signal, deadlineMs },
      what: offered
        ? `Offering ${image}:${version} as latest in gallery ${name}`
        : `Leaving ${image}:${version} out of latest in gallery ${name}`,
    },
  );
}

/** The same call, given up with `provider-timeout` when `who` is silent for too long. */
export function answered(who: string, { signal, epoch }: CallOptions, ms = silentMs): CallOptions {
  return { epoch, signal: AbortSignal.any([signal, answerDeadline(ms, who)]) };
}

/** A region's own flag beats that of the version, which counts for regions that are yet to come. */
function isSo({ excludeFromLatest, regions }: GalleryVersion, offered: boolean): boolean {
  const flags = [
    excludeFromLatest,
    ...regions.map((region) => region.excludeFromLatest ?? excludeFromLatest),
  ];
  return flags.every((excluded) => excluded !== offered);
}
