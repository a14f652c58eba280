// Where a copy goes: the gallery of a provider, or a registered one.
import { refuseCaptured } from '../../domain/capture/prototype.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { GalleryRecord } from '../../domain/gallery/gallery.ts';
import { requireNamed } from '../../domain/value/require-named.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Gallery, RegionTarget } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { type OperationDeps, refuseMixing, requireRole } from '../common/deps.ts';
import { openGallery } from './galleries.ts';

export interface CopyTarget {
  /** `production`, or the name of the provider. */
  readonly name: string;
  readonly provider: Provider;
  readonly gallery: Gallery;
  readonly record?: GalleryRecord;
  /** Where copies are to be, the gallery's own region first; empty for a provider without regions. */
  readonly regions: readonly RegionTarget[];
}

export interface CopyPlace {
  readonly provider?: string | undefined;
  readonly gallery?: string | undefined;
  readonly regions: readonly RegionTarget[];
}

/** Throws `gallery-not-found`, and `input-invalid` for regions that the provider does not have. */
export async function copyTarget(deps: OperationDeps, place: CopyPlace): Promise<CopyTarget> {
  if (place.gallery === undefined) {
    const provider = deps.provider(place.provider);
    const gallery = requireRole(provider, 'gallery');
    return { name: provider.name, provider, gallery, regions: targets(provider, undefined, place.regions) };
  }
  const record = await requireGallery(deps, place.gallery);
  if (place.provider !== undefined && place.provider !== record.provider) {
    throw new ImagoError(
      'input-invalid',
      `Gallery ${record.name} is one of ${record.provider}, not ${place.provider}.`,
    );
  }
  return recordTarget(deps, record, place.regions);
}

export async function requireGallery(
  { galleryBook }: Pick<OperationDeps, 'galleryBook'>,
  name: string,
): Promise<GalleryRecord> {
  const known = await galleryBook.list();
  const found = known.find((gallery) => gallery.name === name);
  return requireNamed('gallery', name, found, async () => known.map((gallery) => gallery.name));
}

export function recordTarget(
  deps: OperationDeps,
  record: GalleryRecord,
  asked: readonly RegionTarget[] = [],
): CopyTarget {
  const gallery = openGallery(deps.providers(), record);
  const provider = deps.provider(record.provider);
  const regions = targets(provider, record.home, [...record.regions, ...asked]);
  return { name: record.name, provider, gallery, record, regions };
}

type Place = Pick<CopyTarget, 'provider'> & { readonly record?: Pick<GalleryRecord, 'place'> | undefined };

type Subject = Pick<VersionRecord, 'image' | 'version' | 'restricted' | 'simulated' | 'origin'>;

/**
 * A version with private inputs stays away from what others see, under whatever name it is known here, a simulated one
 * from real galleries, and a captured one from all but its provider's own. Throws `channel-restricted`,
 * `simulation-mixed`, or `prototype-elsewhere`.
 */
export async function checkMayGo(
  deps: Pick<OperationDeps, 'galleryBook'>,
  target: Place,
  subject: Subject,
): Promise<void> {
  refuseMixing(target.provider, subject);
  if (target.record !== undefined) refuseCaptured(subject, 'a registered gallery');
  const seen = await publicFor(deps, target, subject);
  if (seen === undefined) return;
  throw new ImagoError(
    'channel-restricted',
    `${subject.image}:${subject.version} has private inputs, and gallery ${seen} is public.`,
    { hint: 'Copy it to a gallery that is not public. This cannot be overridden.' },
  );
}

/** The name of the gallery because of which the version must not be there; `undefined` when it may. */
export async function publicFor(
  { galleryBook }: Pick<OperationDeps, 'galleryBook'>,
  target: Place,
  { restricted }: Pick<VersionRecord, 'restricted'>,
): Promise<string | undefined> {
  if (restricted !== true) return undefined;
  const seen = (await galleryBook.list()).find(
    (known) =>
      known.public && known.provider === target.provider.name && isSamePlace(target, known, target.record),
  );
  return seen?.name;
}

function isSamePlace(
  { provider: { galleries } }: Place,
  a: Pick<GalleryRecord, 'place'>,
  b: Pick<GalleryRecord, 'place'> | undefined,
): boolean {
  return (a.place ?? galleries?.own) === (b?.place ?? galleries?.own);
}

/** Makes the gallery at the provider when it is not there yet. */
export async function ensureGallery({ record, provider }: CopyTarget, options: CallOptions): Promise<void> {
  if (record?.place === undefined || provider.galleries === undefined) return;
  if ((await provider.galleries.getGallery(record.place, options)) !== undefined) return;
  await provider.galleries.createGallery(
    { name: record.place, ...(record.home === undefined ? {} : { region: record.home }) },
    options,
  );
}

function targets(
  { abilities: { regions: known }, name }: Provider,
  home: string | undefined,
  asked: readonly RegionTarget[],
): readonly RegionTarget[] {
  const first = home ?? known[0];
  if (first === undefined) {
    if (asked.length === 0) return [];
    throw new ImagoError('input-invalid', `Provider ${name} has only one place, and no regions.`);
  }
  const merged = new Map([[first, { region: first, replicas: 1 }]]);
  for (const { region, replicas } of asked) {
    if (!known.includes(region)) {
      throw new ImagoError('input-invalid', `There is no region ${region} at ${name}.`, {
        hint: `There are: ${known.join(', ')}.`,
      });
    }
    merged.set(region, { region, replicas: Math.max(replicas, merged.get(region)?.replicas ?? 0) });
  }
  return [...merged.values()];
}
