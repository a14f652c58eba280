// Versions of a gallery: made once from one source, copied to regions by Azure, and changed by reading the whole
// resource and writing it back.

import { ImagoError } from '../../../domain/error/imago-error.ts';
import { busy, conflict, invalid, notFound } from '../../../domain/error/refusals.ts';
import { formatNumber, parseNumber } from '../../../domain/image/version-number.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type {
  Gallery,
  GalleryVersion,
  GalleryVersionChange,
  GalleryVersionSpec,
  RegionState,
  RegionTarget,
} from '../../../ports/provider/gallery.ts';
import { type Address, at } from '../arm/address.ts';
import type { Body, Resource, WireGallery, WireImage, WireVersion } from '../arm/wire.ts';
import { type AzureContext, stateOf, toRegion } from '../context.ts';
import { dropUpload, holdUpload, uploadName } from '../disk/upload.ts';
import { prepareSource, readSource, sourceTag } from './version-source.ts';

type VersionRole = Pick<
  Gallery,
  'createVersion' | 'getVersion' | 'listVersions' | 'updateVersion' | 'deleteVersion'
>;
type Version = Resource<WireVersion>;
type Publishing = NonNullable<WireVersion['publishingProfile']>;
type Region = NonNullable<Publishing['targetRegions']>[number];

const type = 'galleries/images/versions';
const sourceKey = 'imago-source';
const replication = { $expand: 'ReplicationStatus' } as const;
const noZones = /ZRS|zone.?redundan/i;

export function galleryVersions(context: AzureContext, gallery: string): VersionRole {
  const { arm, listings, book } = context;
  return {
    createVersion: (spec, options) => createVersion(context, gallery, spec, options),
    async getVersion(image, version, { signal }) {
      signal.throwIfAborted();
      const found = await arm.get<Version>(at(type, gallery, image, version), signal, replication);
      if (found === undefined) return undefined;
      const shown = toVersion(found, gallery, image);
      if (shown.state !== 'failed') return shown;
      const why = await book.failureOf(arm, found.id, signal);
      return { ...shown, error: why ?? regionError(shown.regions) };
    },
    listVersions: (image, query, { signal }) =>
      listings.page(
        `versions of ${gallery}/${image}`,
        query,
        async () => {
          const found = await arm.list<Version>(at(type, gallery, image), signal);
          return found.map((one) => toVersion(one, gallery, image));
        },
        ({ version }) => version,
        byNumber,
      ),
    updateVersion: (image, version, change, options) =>
      updateVersion(context, at(type, gallery, image, version), change, options),
    async deleteVersion(image, version, { signal }) {
      signal.throwIfAborted();
      const address = at(type, gallery, image, version);
      const found = await arm.get<Version>(address, signal);
      if (found === undefined || stateOf(found.properties.provisioningState) === 'deleting') return;
      await book.note(found.id, await arm.delete(address, signal));
    },
  };
}

async function createVersion(
  context: AzureContext,
  gallery: string,
  spec: GalleryVersionSpec,
  options: CallOptions,
): Promise<void> {
  const { arm } = context;
  const { signal } = options;
  const { image } = spec;
  signal.throwIfAborted();
  const version = formatNumber(parseNumber(spec.version));
  checkTime(spec.endOfLife);
  const home = await arm.get<Resource<WireGallery>>(at('galleries', gallery), signal);
  const definition = await arm.get<Resource<WireImage>>(at('galleries/images', gallery, image), signal);
  if (home === undefined || definition === undefined) {
    throw notFound(`Gallery ${gallery} has no image ${image}.`);
  }
  const location = toRegion(home.location);
  const regions = checkRegions(context, location, spec.regions);
  const address = at(type, gallery, image, version);
  const tag = sourceTag(spec.source, gallery);
  const found = await arm.get<Version>(address, signal);
  if (found !== undefined) return adoptVersion(context, address, found, tag, options);
  const upload = spec.source.kind === 'disk' ? uploadName(spec.source.digest, location) : undefined;
  const release = upload === undefined ? undefined : holdUpload(context, upload);
  try {
    const storageProfile = await prepareSource(context, address, spec.source, location, options);
    const started = await putWithFallback(context, address, regions, signal, (targetRegions) => ({
      location,
      tags: { ...spec.tags, [sourceKey]: tag },
      properties: {
        storageProfile,
        publishingProfile: {
          ...{ targetRegions, excludeFromLatest: spec.excludeFromLatest },
          ...(spec.endOfLife === undefined ? {} : { endOfLifeDate: spec.endOfLife }),
        },
        safetyProfile: {
          allowDeletionOfReplicatedLocations: false,
          blockDeletionBeforeEndOfLife: spec.blockDeletionBeforeEndOfLife === true,
        },
      },
    }));
    await context.book.note(arm.idOf(address), started);
    if (upload === undefined || release === undefined) return;
    context.later((closing) => dropUpload(context, upload, started, release, closing));
  } catch (thrown) {
    release?.();
    throw thrown;
  }
}

/** Zone-redundant copies where regions have zones, else local ones. */
async function putWithFallback(
  { arm }: AzureContext,
  address: Address,
  regions: readonly RegionTarget[],
  signal: AbortSignal,
  bodyOf: (targets: readonly Region[]) => Body<WireVersion>,
) {
  const put = (storage: string) =>
    arm.put<Version>(address, bodyOf(regions.map((region) => toTarget(region, storage))), signal);
  try {
    return await put('Standard_ZRS');
  } catch (thrown) {
    const isZones =
      thrown instanceof ImagoError && thrown.code === 'input-invalid' && noZones.test(thrown.message);
    if (!isZones) throw thrown;
    return put('Standard_LRS');
  }
}

/** Adopts a version that exists. One that failed is written again as it is, which starts its copies again. */
async function adoptVersion(
  { arm, book }: AzureContext,
  address: Address,
  found: Version,
  tag: string,
  { signal }: CallOptions,
): Promise<void> {
  const name = address.names.slice(1).join(':');
  const state = stateOf(found.properties.provisioningState);
  if (state === 'deleting') throw busy(`Version ${name} is being deleted.`);
  if (found.tags?.[sourceKey] !== tag) {
    throw conflict(`Version ${name} was made from another source, and content never changes.`);
  }
  if (state === 'failed') await book.note(found.id, await arm.put(address, writable(found), signal));
}

async function updateVersion(
  context: AzureContext,
  address: Address,
  change: GalleryVersionChange,
  { signal }: CallOptions,
): Promise<void> {
  const { arm, book } = context;
  signal.throwIfAborted();
  checkTime(change.endOfLife);
  const name = address.names.slice(1).join(':');
  const found = await arm.get<Version>(address, signal);
  if (found === undefined) throw notFound(`Gallery ${address.names[0]} has no version ${name}.`);
  const state = stateOf(found.properties.provisioningState);
  if (state === 'deleting') throw busy(`Version ${name} is being deleted.`);
  if (state === 'creating') throw busy(`Version ${name} is still being made.`);
  const { publishingProfile: publishing = {}, safetyProfile: safety } = found.properties;
  const before = publishing.targetRegions ?? [];
  const targetRegions =
    change.regions === undefined
      ? before
      : checkRegions(context, toRegion(found.location), change.regions).map((region) => ({
          ...before.find((one) => toRegion(one.name) === region.region),
          ...toTarget(region, before[0]?.storageAccountType ?? 'Standard_LRS'),
        }));
  const left = before.filter(
    (one) => !targetRegions.some((target) => toRegion(target.name) === toRegion(one.name)),
  );
  if (left.length > 0 && change.allowRegionRemoval !== true) {
    throw conflict(
      `Version ${name} would be removed from ${left.map((one) => toRegion(one.name)).join(', ')}.`,
    );
  }
  const { excludeFromLatest, endOfLife, blockDeletionBeforeEndOfLife } = change;
  const body: Body<WireVersion> = {
    ...writable(found),
    properties: {
      ...writable(found).properties,
      publishingProfile: {
        ...{ ...publishing, targetRegions },
        ...(excludeFromLatest === undefined ? {} : { excludeFromLatest }),
        ...(endOfLife === undefined ? {} : { endOfLifeDate: endOfLife }),
      },
      safetyProfile: {
        ...safety,
        // Only for this change: the next one closes it again.
        allowDeletionOfReplicatedLocations: left.length > 0,
        ...(blockDeletionBeforeEndOfLife === undefined ? {} : { blockDeletionBeforeEndOfLife }),
      },
    },
  };
  await book.note(found.id, await arm.put(address, body, signal));
}

/** Without what only Azure writes. Everything else goes back as it came. */
function writable({ location, tags = {}, properties }: Version): Body<WireVersion> {
  const { provisioningState, replicationStatus, validationsProfile, ...own } = properties;
  return { location, tags, properties: own };
}

function checkRegions(
  { regions: known }: AzureContext,
  home: string,
  asked: readonly RegionTarget[],
): readonly RegionTarget[] {
  if (asked.length === 0) return [{ region: home, replicas: 1 }];
  const names = asked.map(({ region }) => region);
  for (const { region, replicas } of asked) {
    if (!known.includes(region)) throw invalid(`Azure has no region ${region}.`);
    if (!Number.isInteger(replicas) || replicas < 1) {
      throw invalid(`Region ${region} must have at least 1 replica, not ${replicas}.`);
    }
  }
  if (new Set(names).size < names.length) throw invalid(`A region is named twice: ${names.join(', ')}.`);
  if (!names.includes(home)) throw invalid(`The gallery's own region ${home} must be among the regions.`);
  return asked;
}

function checkTime(time: string | undefined): void {
  if (time === undefined || !Number.isNaN(Date.parse(time))) return;
  throw invalid(`The end of life ${JSON.stringify(time)} is not a time.`);
}

function toTarget({ region, replicas, excludeFromLatest }: RegionTarget, storageAccountType: string): Region {
  return {
    ...{ name: region, regionalReplicaCount: replicas, storageAccountType },
    ...(excludeFromLatest === undefined ? {} : { excludeFromLatest }),
  };
}

function toVersion(found: Version, gallery: string, image: string): GalleryVersion {
  const { properties, tags = {} } = found;
  const { publishingProfile: publishing = {}, safetyProfile: safety, storageProfile } = properties;
  const { [sourceKey]: source, ...ownTags } = tags;
  const state = stateOf(properties.provisioningState);
  const gigabytes = storageProfile?.osDiskImage?.sizeInGB;
  const { endOfLifeDate } = publishing;
  return {
    ...{ image, version: found.name, state, tags: ownTags },
    source: readSource(source, storageProfile, gallery),
    regions: (publishing.targetRegions ?? []).map((region) => toRegionState(region, properties)),
    excludeFromLatest: publishing.excludeFromLatest === true,
    ...(endOfLifeDate === undefined ? {} : { endOfLife: plainTime(endOfLifeDate) }),
    ...(safety?.blockDeletionBeforeEndOfLife === undefined
      ? {}
      : { blockDeletionBeforeEndOfLife: safety.blockDeletionBeforeEndOfLife }),
    createdAt: plainTime(publishing.publishedDate ?? '1970-01-01T00:00:00Z'),
    ...(gigabytes === undefined ? {} : { sizeBytes: gigabytes * 2 ** 30 }),
  };
}

/** A list does not tell how far copies are, so that only a version that has ended tells it there. */
function toRegionState(region: Region, { replicationStatus, provisioningState }: WireVersion): RegionState {
  const name = toRegion(region.name);
  const copy = replicationStatus?.summary?.find((one) => toRegion(one.region) === name);
  const isReady = copy === undefined ? stateOf(provisioningState) === 'ready' : copy.state === 'Completed';
  const isFailed = copy?.state === 'Failed';
  const percent = isReady ? 100 : Math.min(99, copy?.progress ?? 0);
  const going = percent > 0 ? 'replicating' : 'pending';
  return {
    ...{ region: name, replicas: region.regionalReplicaCount ?? 1, percent },
    ...(region.excludeFromLatest === undefined ? {} : { excludeFromLatest: region.excludeFromLatest }),
    state: isReady ? 'ready' : isFailed ? 'failed' : going,
    ...(isFailed
      ? { error: { code: 'ReplicationFailed', message: copy?.details || 'No reason was given.' } }
      : {}),
  };
}

function regionError(regions: readonly RegionState[]): NonNullable<GalleryVersion['error']> {
  const failed = regions.find(({ error }) => error !== undefined)?.error;
  return failed ?? { code: 'Failed', message: 'Azure says that it failed, and not why.' };
}

/** Azure writes times with an offset and up to seven digits. */
function plainTime(time: string): string {
  return new Date(time).toISOString().replace('.000Z', 'Z');
}

function byNumber(one: string, other: string): number {
  const [a, b] = [parseNumber(one), parseNumber(other)];
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}
