// Takes versions out of the galleries' own idea of `latest`, in every region, and reads back that they are. A
// gallery that does not answer, or says yes and does nothing, is named, and does not keep the others from hearing.
import { ensureImagoError } from '../domain/errors.ts';
import type { VersionName } from '../ports/lineage.ts';
import type { StepContext } from '../ports/operation.ts';
import type { GalleryVersion } from '../ports/provider-gallery.ts';
import { callOptions, type OperationDeps } from './deps.ts';
import { type KnownGallery, listGalleries } from './galleries.ts';
import { settle } from './settle.ts';

export interface ToldGalleries {
  /** `sim/main: node:1.34.2`. */
  readonly told: readonly string[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

/** Azure takes 150 s for such a change. */
const deadlineMs = 15 * 60_000;

export async function tellGalleries(
  deps: OperationDeps,
  versions: readonly VersionName[],
  context: StepContext<unknown>,
): Promise<ToldGalleries> {
  const told: string[] = [];
  const failed: string[] = [];
  for (const provider of deps.providers()) {
    if (!provider.abilities.excludeFromLatest) continue;
    const galleries = await guard(`${provider.name} does not list its galleries`, () =>
      listGalleries([provider], callOptions(deps, context.signal)),
    );
    for (const gallery of galleries ?? []) {
      await guard(`gallery ${gallery.name} does not leave it out`, () => tell(gallery));
    }
  }
  return { told, failed };

  async function guard<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (thrown) {
      context.signal.throwIfAborted();
      failed.push(`${what}: ${ensureImagoError(thrown).message}`);
      return undefined;
    }
  }

  async function tell(gallery: KnownGallery): Promise<void> {
    for (const [index, version] of versions.entries()) {
      context.progress(index, versions.length, `telling gallery ${gallery.name}`);
      if (await exclude(deps, gallery, version, context)) {
        told.push(`${gallery.name}: ${version.image}:${version.version}`);
      }
    }
  }
}

/** `false` when the gallery does not have the version. */
async function exclude(
  deps: OperationDeps,
  { gallery, provider, name }: KnownGallery,
  { image, version }: VersionName,
  context: StepContext<unknown>,
): Promise<boolean> {
  const options = callOptions(deps, context.signal);
  const now = await gallery.getVersion(image, version, options);
  if (now === undefined || now.state === 'deleting') return false;
  if (isExcluded(now)) return true;
  await gallery.updateVersion(
    image,
    version,
    {
      excludeFromLatest: true,
      regions: now.regions.map(({ region, replicas }) => ({ region, replicas, excludeFromLatest: true })),
    },
    options,
  );
  await settle(
    async () => {
      const after = await gallery.getVersion(image, version, options);
      return after === undefined || isExcluded(after) ? true : undefined;
    },
    {
      clock: provider.clock,
      signal: context.signal,
      deadlineMs,
      what: `Leaving ${image}:${version} out of latest in gallery ${name}`,
    },
  );
  return true;
}

/** A region's own flag beats that of the version. */
function isExcluded({ excludeFromLatest, regions }: GalleryVersion): boolean {
  if (regions.length === 0) return excludeFromLatest;
  return regions.every((region) => region.excludeFromLatest ?? excludeFromLatest);
}
