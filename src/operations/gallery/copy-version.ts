// Copies the tested version to a gallery and its regions. What is there is adopted and compared; regions that failed are
// tried again alone; none that is there is taken away.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type {
  GalleryVersion,
  RegionState,
  RegionTarget,
  VersionSource,
} from '../../ports/provider/gallery.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { type Compared, compareBytes, compareCopy, digestTag } from './copy-compare.ts';
import { type CopyTarget, checkMayGo, ensureGallery, publicFor } from './copy-target.ts';
import { listGalleries } from './galleries.ts';
import { requireRoom } from './limits.ts';

/** Says which operation began a copy, so that undo takes away its own half-made one and nobody else's. */
const operationTag = 'imago-operation';
/** Azure gives a replication up after so long. */
const deadlineMs = 6 * 3_600_000;
/** So often a region that failed is tried in one run. */
const triesPerRegion = 3;
const betweenTriesMs = 60_000;

type Watch = Pick<StepContext<unknown>, 'signal' | 'progress' | 'log' | 'operation'>;

/** Starts the copy, or adopts the one there is, and waits until the gallery's own region has it. */
export async function beginCopy(
  deps: OperationDeps,
  target: CopyTarget,
  version: VersionRecord,
  watch: Watch,
): Promise<void> {
  const options = callOptions(deps, watch.signal);
  await checkMayGo(deps, target, version);
  await ensureGallery(target, options);
  const { gallery } = target;
  const { image, version: number } = version;
  const known = await deps.catalogue.getImage(image);
  if (known === undefined) throw new ImagoError('image-not-found', `There is no image ${image}.`);
  await requireRoom(gallery, version, options);
  const found = await gallery.getVersion(image, number, options);
  if (found === undefined || found.state === 'deleting') {
    await gallery.createImage(
      { name: image, os: known.os, architecture: known.architecture, generation: 2 },
      options,
    );
    await gallery.createVersion(
      {
        ...{
          image,
          version: number,
          regions: target.regions,
          excludeFromLatest: target.provider.abilities.excludeFromLatest,
        },
        source: await pickSource(deps, target, version, watch.signal),
        tags: { [digestTag]: version.digest, [operationTag]: watch.operation.id },
      },
      options,
    );
    // It may have become public since: whoever makes it so looks for copies after the record, we at the record after the copy.
    await checkMayGo(deps, target, version);
  } else compareCopy(target, version, found);
  await settleCopy(deps, target, version, watch, (now) => hasHome(now, target) || isIdle(now));
}

/** Waits for every region that was asked for. Those that failed are begun again, alone, some times. */
export async function finishCopy(
  deps: OperationDeps,
  target: CopyTarget,
  version: VersionRecord,
  watch: Watch,
): Promise<GalleryVersion> {
  const { gallery, provider, name } = target;
  const { image, version: number } = version;
  const options = callOptions(deps, watch.signal);
  for (let tries = 1; ; tries += 1) {
    const now = await settleCopy(deps, target, version, watch, isIdle);
    if (isWhole(now, target)) return now;
    const missing = missingIn(now, target);
    if (tries > triesPerRegion) throw regionsFailed(name, version, now, missing);
    if (tries > 1) await provider.clock.sleep(betweenTriesMs, watch.signal);
    watch.log(`${image}:${number} is not in ${describe(missing) || 'the gallery'} yet: trying there`);
    if (now.state === 'failed' && missing.length === 0) {
      await gallery.createVersion({ ...now, regions: target.regions }, options);
    } else await gallery.updateVersion(image, number, { regions: merged(now, target.regions) }, options);
  }
}

/** Reads back what the gallery holds. */
export async function checkCopy(
  deps: OperationDeps,
  target: CopyTarget,
  version: VersionRecord,
  watch: Pick<Watch, 'signal'>,
  deep: boolean,
): Promise<{ readonly regions: readonly string[]; readonly compared: Compared }> {
  const options = callOptions(deps, watch.signal);
  const found = await target.gallery.getVersion(version.image, version.version, options);
  if (found === undefined || !isWhole(found, target)) {
    throw new ImagoError(
      'provider-failed',
      `${version.image}:${version.version} is not whole in gallery ${target.name}.`,
    );
  }
  const compared = compareCopy(target, version, found);
  const regions = found.regions.filter(({ state }) => state === 'ready').map(({ region }) => region);
  return { regions, compared: deep ? await compareBytes(target, version, options) : compared };
}

/**
 * Takes away a copy that this operation began and that is ready nowhere, or where others must not see it. `kept` when
 * there is nothing of that kind.
 */
export async function dropHalfCopy(
  deps: OperationDeps,
  target: CopyTarget,
  subject: Pick<VersionRecord, 'image' | 'version' | 'restricted' | 'simulated'>,
  watch: Watch,
): Promise<'kept' | undefined> {
  const { image, version } = subject;
  const options = callOptions(deps, watch.signal);
  const found = await target.gallery.getVersion(image, version, options);
  if (found === undefined) return undefined;
  const isReady = found.state === 'ready' || found.regions.some(({ state }) => state === 'ready');
  const isKept = isReady && (await publicFor(deps, target, subject)) === undefined;
  if (isKept || found.tags[operationTag] !== watch.operation.id) return 'kept';
  await target.gallery.deleteVersion(image, version, options);
  await settle(
    async () => ((await target.gallery.getVersion(image, version, options)) === undefined ? true : undefined),
    {
      ...{ clock: target.provider.clock, signal: watch.signal, deadlineMs },
      what: `The removal of the half-made copy of ${image}:${version}`,
    },
  );
  return undefined;
}

/** Everything asked for is there; a gallery without regions says so by its state. */
export function isWhole(found: GalleryVersion | undefined, target: CopyTarget): boolean {
  if (found === undefined || found.state === 'deleting') return false;
  return target.regions.length === 0 ? found.state === 'ready' : missingIn(found, target).length === 0;
}

/** A copy of this very version in another gallery of the same provider is copied there, else the sealed disk. */
async function pickSource(
  deps: OperationDeps,
  target: CopyTarget,
  version: VersionRecord,
  signal: AbortSignal,
): Promise<VersionSource> {
  const options = callOptions(deps, signal);
  const { image, version: number, diskDigest, digest } = version;
  for (const { name, gallery } of await listGalleries([target.provider], options)) {
    const place = name.slice(target.provider.name.length + 1);
    if (place === '' || place === target.record?.place) continue;
    const found = await gallery.getVersion(image, number, options);
    if (found?.state !== 'ready' || found.tags[digestTag] !== digest) continue;
    if (found.diskDigest !== undefined && found.diskDigest !== diskDigest) continue;
    return { kind: 'version', gallery: place, image, version: number };
  }
  return { kind: 'disk', digest: diskDigest };
}

function settleCopy(
  deps: OperationDeps,
  { gallery, provider, name }: CopyTarget,
  { image, version }: VersionRecord,
  watch: Watch,
  until: (now: GalleryVersion) => boolean,
): Promise<GalleryVersion> {
  const options = callOptions(deps, watch.signal);
  return settle(
    async () => {
      const now = await gallery.getVersion(image, version, options);
      if (now === undefined) return undefined;
      const percents = now.regions.map(({ percent }) => percent);
      watch.progress(Math.min(100, ...percents), 100, `${name}: ${describeRegions(now.regions)}`);
      return until(now) ? now : undefined;
    },
    {
      ...{ clock: provider.clock, signal: watch.signal, deadlineMs },
      what: `The copy of ${image}:${version} to gallery ${name}`,
    },
  );
}

function isIdle({ state, regions }: GalleryVersion): boolean {
  if (state === 'creating' || state === 'updating') return false;
  return regions.every((region) => region.state === 'ready' || region.state === 'failed');
}

function hasHome({ regions, state }: GalleryVersion, target: CopyTarget): boolean {
  const [home] = target.regions;
  if (home === undefined) return state === 'ready';
  return regions.some((region) => region.region === home.region && region.state === 'ready');
}

function missingIn({ regions }: GalleryVersion, target: CopyTarget): readonly RegionTarget[] {
  return target.regions.filter(
    ({ region, replicas }) =>
      !regions.some(
        (there) => there.region === region && there.state === 'ready' && there.replicas >= replicas,
      ),
  );
}

function merged({ regions }: GalleryVersion, asked: readonly RegionTarget[]): readonly RegionTarget[] {
  const whole = new Map<string, RegionTarget>(
    regions.map(({ region, replicas, excludeFromLatest }) => [
      region,
      { region, replicas, ...(excludeFromLatest === undefined ? {} : { excludeFromLatest }) },
    ]),
  );
  for (const { region, replicas } of asked) {
    const known = whole.get(region);
    whole.set(region, { ...known, region, replicas: Math.max(replicas, known?.replicas ?? 0) });
  }
  return [...whole.values()];
}

function regionsFailed(
  gallery: string,
  { image, version }: VersionRecord,
  now: GalleryVersion,
  missing: readonly RegionTarget[],
): ImagoError {
  const reasons = now.regions
    .filter(({ region }) => missing.some((target) => target.region === region))
    .map(({ region, error }) => `${region} (${error?.message ?? 'no reason given'})`);
  const where = reasons.length === 0 ? (now.error?.message ?? 'no reason given') : reasons.join(', ');
  return new ImagoError(
    'provider-failed',
    `${image}:${version} could not be copied to gallery ${gallery}: ${where}.`,
    {
      hint: 'Regions that have it keep it. `imago op retry` tries those that failed, and no others.',
      details: { failed: missing.map(({ region }) => region) },
    },
  );
}

function describe(regions: readonly RegionTarget[]): string {
  return regions.map(({ region }) => region).join(', ');
}

function describeRegions(regions: readonly RegionState[]): string {
  if (regions.length === 0) return 'copying';
  return regions
    .map(({ region, state, percent }) => `${region} ${state === 'replicating' ? `${percent} %` : state}`)
    .join(', ');
}
