// Copies the tested version to a gallery and its regions: the one way to do so. An existing copy is adopted and compared;
// failed regions are retried alone; no existing copy is removed.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Resolution, VersionRecord } from '../../ports/database/catalog.ts';
import type {
  GalleryVersion,
  RegionState,
  RegionTarget,
  VersionSource,
} from '../../ports/provider/gallery.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle, settleGone } from '../../workflow/poll-until.ts';
import type { Calls } from '../common/deps.ts';
import type { NamedStep, Reading, Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { requireBootable } from './check-disk.ts';
import { type Compared, compareBytes, compareCopy, digestTag } from './copy-compare.ts';
import { type CopyTarget, checkMayGo, copyTarget, ensureGallery, publicFor } from './copy-target.ts';
import { listGalleries } from './galleries.ts';
import { requireRoom } from './limits.ts';

/** Names the operation that started a copy, so that undo removes only its own partial copy. */
const operationTag = 'imago-operation';
/** Azure abandons a replication after this time. */
const deadlineMs = 6 * 3_600_000;
const triesPerRegion = 3;
const betweenTriesMs = 60_000;

/** What a copy needs of the step that makes it. */
export type Copying = Calls & Pick<StepContext<unknown>, 'progress' | 'log' | 'operation'>;

export interface CheckedCopy {
  readonly gallery: string;
  readonly regions: readonly string[];
  readonly compared: Compared;
}

/** Copies the version to all regions of the target and reads it back. A second call only compares. */
export async function ensureCopy(
  run: Copying,
  target: CopyTarget,
  version: VersionRecord,
): Promise<CheckedCopy> {
  await beginCopy(run, target, version);
  await finishCopy(run, target, version);
  return checkCopy(run, target, version);
}

/** Ensures that the provider's gallery, if it has one, holds the resolved version before a machine starts from it. */
export function publishStep<Input>(
  providerOf: (run: Reading<Input>) => Promise<string | undefined> | string | undefined,
): NamedStep<'publish', Input, { readonly resolve: Resolution }, object> {
  type Step = Run<Input, { readonly resolve: Resolution }>;
  async function open(run: Step) {
    const provider = run.provider(await providerOf(run));
    const { image, version: number } = run.result('resolve');
    const version = await requireVersion(run, image, number);
    const target = provider.gallery && (await copyTarget(run, { provider: provider.name, regions: [] }));
    return { version, target };
  }
  const published = ({ image, version }: VersionRecord, regions: readonly string[]) => ({
    ...{ image, version, regions },
  });
  return {
    name: 'publish',
    async do(run) {
      const { target, version } = await open(run);
      if (target === undefined) return { gallery: 'none' };
      return published(version, (await ensureCopy(run, target, version)).regions);
    },
    async verify(run) {
      const { target, version } = await open(run);
      if (target === undefined) return { gallery: 'none' };
      const found = await target.gallery.getVersion(version.image, version.version, run.call);
      if (found?.state !== 'ready' || (await publicFor(run, target, version)) !== undefined) return undefined;
      return published(version, readyRegions(found));
    },
    async undo(run) {
      const { target, version } = await open(run);
      return target === undefined ? 'kept' : dropHalfCopy(run, target, version);
    },
  };
}

/** Starts the copy, or adopts the existing one, and waits until the gallery's own region has it. */
export async function beginCopy(run: Copying, target: CopyTarget, version: VersionRecord): Promise<void> {
  const { call } = run;
  await checkMayGo(run, target, version);
  await ensureGallery(target, call);
  const { gallery, regions } = target;
  const { image, version: number } = version;
  const known = await run.catalogue.getImage(image);
  if (known === undefined) throw new ImagoError('image-not-found', `There is no image ${image}.`);
  await requireRoom(gallery, version, call);
  const found = await gallery.getVersion(image, number, call);
  if (found === undefined || found.state === 'deleting') {
    await requireBootable(run, target.provider, version);
    const { os, architecture } = known;
    await gallery.createImage({ name: image, os, architecture, generation: 2 }, call);
    await gallery.createVersion(
      {
        ...{ image, version: number, regions },
        excludeFromLatest: target.provider.abilities.excludeFromLatest,
        source: await pickSource(run, target, version),
        tags: { [digestTag]: version.digest, [operationTag]: run.operation.id },
      },
      { ...call, onProgress: run.progress },
    );
    // It may have become public: who makes it public reads the copies after its record, we read its record after the copy.
    await checkMayGo(run, target, version);
  } else compareCopy(target, version, found);
  await settleCopy(run, target, version, (now) => hasHome(now, target) || isIdle(now));
}

/** Waits for all regions of the target. Failed ones are started again, alone. */
export async function finishCopy(
  run: Copying,
  target: CopyTarget,
  version: VersionRecord,
): Promise<GalleryVersion> {
  const { gallery, provider, name } = target;
  const { image, version: number } = version;
  for (let tries = 1; ; tries += 1) {
    const now = await settleCopy(run, target, version, isIdle);
    if (isWhole(now, target)) return now;
    const missing = missingIn(now, target);
    if (tries > triesPerRegion) throw regionsFailed(name, version, now, missing);
    if (tries > 1) await provider.clock.sleep(betweenTriesMs, run.call.signal);
    run.log(`${image}:${number} is not in ${describe(missing) || 'the gallery'} yet: trying there`);
    if (now.state === 'failed' && missing.length === 0) {
      await gallery.createVersion({ ...now, regions: target.regions }, run.call);
    } else await gallery.updateVersion(image, number, { regions: merged(now, target.regions) }, run.call);
  }
}

/** Reads back what the gallery holds. */
export async function checkCopy(
  { call }: Calls,
  target: CopyTarget,
  version: VersionRecord,
  deep = false,
): Promise<CheckedCopy> {
  const found = await target.gallery.getVersion(version.image, version.version, call);
  if (found === undefined || !isWhole(found, target)) {
    throw new ImagoError(
      'provider-failed',
      `${version.image}:${version.version} is not complete in gallery ${target.name}.`,
    );
  }
  const compared = compareCopy(target, version, found);
  return {
    gallery: target.name,
    regions: readyRegions(found),
    compared: deep ? await compareBytes(target, version, call) : compared,
  };
}

export function readyRegions({ regions }: GalleryVersion): readonly string[] {
  return regions.filter(({ state }) => state === 'ready').map(({ region }) => region);
}

/**
 * Removes a copy that this operation started and that is ready nowhere, or is where others must not see it. Returns
 * `kept` if there is no such copy.
 */
export async function dropHalfCopy(
  run: Copying,
  target: CopyTarget,
  subject: Pick<VersionRecord, 'image' | 'version' | 'restricted' | 'simulated'>,
): Promise<'kept' | undefined> {
  const { image, version } = subject;
  const { gallery, provider } = target;
  const read = () => gallery.getVersion(image, version, run.call);
  const found = await read();
  if (found === undefined) return undefined;
  const isReady = found.state === 'ready' || found.regions.some(({ state }) => state === 'ready');
  const isKept = isReady && (await publicFor(run, target, subject)) === undefined;
  if (isKept || found.tags[operationTag] !== run.operation.id) return 'kept';
  await gallery.deleteVersion(image, version, run.call);
  const what = `The removal of the partial copy of ${image}:${version}`;
  await settleGone(read, { clock: provider.clock, signal: run.call.signal, deadlineMs, what });
  return undefined;
}

/** Whether all requested regions have it; a gallery without regions shows that by its state. */
export function isWhole(found: GalleryVersion | undefined, target: CopyTarget): boolean {
  if (found === undefined || found.state === 'deleting') return false;
  return target.regions.length === 0 ? found.state === 'ready' : missingIn(found, target).length === 0;
}

/** A copy of this exact version in another gallery of the same provider, else the sealed disk. */
async function pickSource(
  { call }: Calls,
  target: CopyTarget,
  version: VersionRecord,
): Promise<VersionSource> {
  const { image, version: number, diskDigest, digest } = version;
  for (const { name, gallery } of await listGalleries([target.provider], call)) {
    const place = name.slice(target.provider.name.length + 1);
    if (place === '' || place === target.record?.place) continue;
    const found = await gallery.getVersion(image, number, call);
    if (found?.state !== 'ready' || found.tags[digestTag] !== digest) continue;
    if (found.diskDigest !== undefined && found.diskDigest !== diskDigest) continue;
    return { kind: 'version', gallery: place, image, version: number };
  }
  return { kind: 'disk', digest: diskDigest };
}

function settleCopy(
  { call, progress }: Copying,
  { gallery, provider, name }: CopyTarget,
  { image, version }: VersionRecord,
  until: (now: GalleryVersion) => boolean,
): Promise<GalleryVersion> {
  const what = `The copy of ${image}:${version} to gallery ${name}`;
  return settle(
    async () => {
      const now = await gallery.getVersion(image, version, call);
      if (now === undefined) return undefined;
      const percents = now.regions.map(({ percent }) => percent);
      progress(Math.min(100, ...percents), 100, `${name}: ${describeRegions(now.regions)}`);
      return until(now) ? now : undefined;
    },
    { clock: provider.clock, signal: call.signal, deadlineMs, what },
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
      hint: 'Regions that have it keep it. `imago op retry` tries only the failed ones.',
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
