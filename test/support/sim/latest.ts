// Which version a gallery means by its own `latest`. Imago never resolves by it; this shows what others get.
import { compareVersions } from '../../../src/domain/image/version-number.ts';
import type { GalleryVersion } from '../../../src/ports/provider/gallery.ts';

/**
 * The highest number, not the newest, among the versions that are ready in the region and not excluded there.
 * The region's flag beats the version's own, and an end of life that has passed changes nothing. A gallery
 * without regions is asked with none.
 */
export function galleryLatest(
  versions: readonly GalleryVersion[],
  region: string | undefined,
): GalleryVersion | undefined {
  return versions
    .filter((version) => version.state !== 'deleting' && isOffered(version, region))
    .reduce<GalleryVersion | undefined>(higher, undefined);
}

function isOffered(version: GalleryVersion, region: string | undefined): boolean {
  if (region === undefined) return version.state === 'ready' && !version.excludeFromLatest;
  const there = version.regions.find((one) => one.region === region);
  if (there?.state !== 'ready') return false;
  return !(there.excludeFromLatest ?? version.excludeFromLatest);
}

function higher(best: GalleryVersion | undefined, next: GalleryVersion): GalleryVersion {
  return best === undefined || compareVersions(next.version, best.version) > 0 ? next : best;
}
