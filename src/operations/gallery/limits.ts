// How full every gallery is, with the pace of the last weeks. One that does not answer fails the whole answer: what is
// missing would look like room.
import {
  checkRoom,
  forecast,
  type LimitForecast,
  type LimitSample,
  type LimitUse,
} from '../../domain/limits/limits.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Gallery } from '../../ports/provider/gallery.ts';
import type { Calls } from '../common/deps.ts';
import { type OperationDeps, requireRole } from '../common/deps.ts';
import type { CopyTarget } from './copy-target.ts';

export interface PlacedLimit extends LimitForecast {
  /** The provider, and the region where limits are counted by region. */
  readonly place: string;
}

type LimitDeps = Pick<OperationDeps, 'lifecycle' | 'providers' | 'clock' | 'epoch'>;

const windowDays = 31;

export async function readLimits(deps: LimitDeps, signal: AbortSignal): Promise<readonly PlacedLimit[]> {
  const now = new Date(deps.clock.now());
  const since = new Date(now.getTime() - windowDays * 86_400_000).toISOString().slice(0, 10);
  const found: PlacedLimit[] = [];
  let byDay: readonly LimitSample[] | undefined;
  for (const provider of deps.providers()) {
    if (provider.gallery === undefined) continue;
    const uses = await provider.gallery.limits({ signal, epoch: deps.epoch });
    const samples = new Map<string, Awaited<ReturnType<typeof deps.lifecycle.samples.list>>>();
    for (const { region, ...use } of uses) {
      const place = region === undefined ? provider.name : `${provider.name}/${region}`;
      const known = samples.get(place) ?? (await deps.lifecycle.samples.list(place, since));
      samples.set(place, known);
      const own = known.filter(({ name }) => name === use.name);
      // What is recorded here goes to the first region.
      const isHome = region === undefined || region === provider.abilities.regions[0];
      if (own.length < 2 && use.name === 'versions' && isHome) {
        byDay ??= await deps.lifecycle.samples.versionsByDay(windowDays - 1);
      }
      const past = own.length < 2 && use.name === 'versions' && isHome ? asIfHere(use, byDay ?? []) : own;
      found.push({ place, ...forecast(use, past, now) });
    }
  }
  return found;
}

/** Returns the growth of the catalog, shifted so that it ends at the current usage of the gallery. */
function asIfHere(use: LimitUse, byDay: readonly LimitSample[]): readonly LimitSample[] {
  const last = byDay.at(-1)?.used ?? 0;
  return byDay.map(({ day, used }) => ({ day, used: Math.max(0, use.used - (last - used)) }));
}

/**
 * Refuses a copy that the gallery would refuse hours later. A version that is there already needs no room.
 * `limit-reached` with what to do.
 */
export async function requireRoom(
  gallery: Gallery,
  { image, version }: { readonly image: string; readonly version: string },
  options: CallOptions,
): Promise<void> {
  if ((await gallery.getVersion(image, version, options)) !== undefined) return;
  const known = await gallery.getImage(image, options);
  checkRoom(`${image}:${version}`, await gallery.limits({ ...options, image }), {
    versions: 1,
    images: known === undefined ? 1 : 0,
    'versions-per-image': 1,
  });
}

/** For plans: what would be refused is refused before anything starts. */
export async function requireRoomIn(
  { call: options }: Calls,
  { gallery, provider, record }: CopyTarget,
  version: { readonly image: string; readonly version: string },
): Promise<void> {
  const isThere =
    record?.place === undefined ||
    (await provider.galleries?.getGallery(record.place, options)) !== undefined;
  await requireRoom(isThere ? gallery : requireRole(provider, 'gallery'), version, options);
}
