// Copies the versions of a gallery to registries, one repository for each region, and removes them. A registry has no
// gallery of its own: the rows say what is to be there, and each write is read back.
import type { VersionKey, VersionRow } from '../../cloud/state/rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { copiesOf, findVersion } from '../../cloud/state/version-rows.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { type Digest, digestOf, parseDigest } from '../../oci/layout/digest.ts';
import { mediaTypes } from '../../oci/layout/media-types.ts';
import type { RegistryClient } from '../../oci/registry/client.ts';
import { push } from '../../oci/registry/push.ts';

export interface RegionPlace {
  readonly client: RegistryClient;
  /** Below it are the repositories of images. */
  readonly repository: string;
}

export interface RegistryContext {
  readonly world: World;
  readonly store: DiskStore;
  readonly defaultGallery: string;
  /** Calls `work` with the registry of a region. */
  withRegion<T>(region: string, work: (place: RegionPlace) => Promise<T>): Promise<T>;
  onProgress(key: VersionKey, region: string, percent: number): void;
}

/** What a tag points to once its version is gone: an index of nothing, which no one can pull. */
const nothing = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.index, manifests: [] }));
const nothingDigest = digestOf(nothing);

/** Does what the rows of the version ask for. Throws what should be tried again. */
export async function workOnVersion(
  context: RegistryContext,
  key: VersionKey,
  signal: AbortSignal,
): Promise<void> {
  const { world } = context;
  const row = world.transaction(() => findVersion(world, key));
  if (row === undefined) return;
  if (row.deletedAt !== null) await remove(context, row, signal);
  else await copyToRegions(context, row, signal);
  await setLatest(context, key, signal);
}

async function copyToRegions(context: RegistryContext, row: VersionRow, signal: AbortSignal): Promise<void> {
  const { world } = context;
  const { gallery, image, version } = row;
  const copies = world.transaction(() => copiesOf(world, row));
  let isHomeReady = true;
  for (const { region, startsAt, readyAt, errorCode } of copies) {
    if (readyAt !== null) isHomeReady &&= region !== copies[0]?.region || errorCode === null;
    // The others are copies of what the gallery's own region has.
    if (readyAt !== null || !isHomeReady) continue;
    const copy = { gallery, image, version, region };
    const starting = startsAt ?? world.time();
    world.transaction(() => world.update('regionCopy', copy, { startsAt: starting }));
    const failure = await copyTo(context, row, region, signal).then(
      () => undefined,
      (thrown: unknown) => ensureImagoError(thrown),
    );
    signal.throwIfAborted();
    isHomeReady &&= region !== copies[0]?.region || failure === undefined;
    const { code = null, message = null } = failure ?? {};
    world.transaction(() =>
      world.update('regionCopy', copy, { errorCode: code, errorMessage: message, readyAt: world.time() }),
    );
  }
}

async function copyTo(
  context: RegistryContext,
  row: VersionRow,
  region: string,
  signal: AbortSignal,
): Promise<void> {
  if (row.digest === null) throw new ImagoError('internal', 'A version was recorded without its disk.');
  const digest = parseDigest(row.digest);
  await context.withRegion(region, async (place) => {
    const repository = repositoryOf(context, place, row);
    const { client } = place;
    const there = await client.manifest(repository, row.version, signal);
    if (there !== undefined && there.digest !== digest && there.digest !== nothingDigest) {
      throw new ImagoError(
        'provider-conflict',
        `${client.registry}/${repository}:${row.version} has other content (${there.digest}).`,
      );
    }
    const target = { client, repository, tag: row.version };
    const onProgress = ({ done, total }: { readonly done: number; readonly total: number }) =>
      context.onProgress(row, region, total === 0 ? 0 : Math.floor((99 * done) / total));
    await push(context.store, digest, target, { signal, onProgress });
    await expectTag(client, repository, row.version, digest, signal);
  });
}

async function expectTag(
  client: RegistryClient,
  repository: string,
  tag: string,
  digest: Digest,
  signal: AbortSignal,
): Promise<void> {
  const found = (await client.manifest(repository, tag, signal))?.digest;
  if (found === digest) return;
  throw new ImagoError(
    'registry-failed',
    `${client.registry}/${repository}:${tag} is ${found ?? 'not there'}, although it was stored as ${digest}.`,
    { retryable: true },
  );
}

/** Removes only what was copied: a copy that was refused leaves the tag to others. */
async function remove(context: RegistryContext, row: VersionRow, signal: AbortSignal): Promise<void> {
  const { world } = context;
  for (const { region } of world.transaction(() => copiesOf(world, row))) {
    await context.withRegion(region, async (place) => {
      const { client } = place;
      const repository = repositoryOf(context, place, row);
      const there = await client.manifest(repository, row.version, signal);
      if (there?.digest === row.digest) await dropTag(client, repository, row.version, signal);
    });
  }
  const gone = 'WHERE gallery = ? AND image = ? AND version = ?';
  world.transaction(() => {
    world.run(`DELETE FROM regionCopy ${gone}`, row.gallery, row.image, row.version);
    world.run(`DELETE FROM version ${gone}`, row.gallery, row.image, row.version);
  });
}

/** Not all registries can delete a tag. Deleting the manifest would delete all of its tags. */
async function dropTag(
  client: RegistryClient,
  repository: string,
  tag: string,
  signal: AbortSignal,
): Promise<void> {
  const there = await client.manifest(repository, tag, signal);
  if (there === undefined || there.digest === nothingDigest) return;
  const manifest = { bytes: nothing, mediaType: mediaTypes.index };
  await client.putManifest(repository, tag, manifest, signal);
  await expectTag(client, repository, tag, nothingDigest, signal);
}

interface Latest {
  readonly region: string;
  readonly version: string | null;
  readonly digest: string | null;
}

/** In each region, `latest` is the highest version that is ready there and not excluded. */
async function setLatest(
  context: RegistryContext,
  { gallery, image }: VersionKey,
  signal: AbortSignal,
): Promise<void> {
  const { world } = context;
  const rows = world.transaction(() =>
    world.all<Latest & { readonly excluded: number }>(
      `SELECT region, version, digest, coalesce(c.excludeFromLatest, v.excludeFromLatest) AS excluded
       FROM regionCopy AS c JOIN version AS v USING (gallery, image, version)
       WHERE gallery = ? AND image = ? AND deletedAt IS NULL AND readyAt IS NOT NULL AND errorCode IS NULL
       ORDER BY major DESC, minor DESC, patch DESC`,
      gallery,
      image,
    ),
  );
  const regions = world.fact(regionsFact(gallery, image))?.split(' ') ?? [];
  const all = [...new Set([...regions, ...rows.map(({ region }) => region)])];
  world.transaction(() => world.setFact(regionsFact(gallery, image), all.join(' ')));
  for (const region of all.filter((name) => name !== '')) {
    const best = rows.find((row) => row.region === region && row.excluded === 0);
    await context.withRegion(region, async (place) => {
      const { client } = place;
      const repository = repositoryOf(context, place, { gallery, image });
      if (best?.digest == null) return dropTag(client, repository, 'latest', signal);
      const digest = parseDigest(best.digest);
      if ((await client.manifest(repository, 'latest', signal))?.digest === digest) return;
      const manifest = await client.manifest(repository, digest, signal);
      if (manifest === undefined) {
        throw new ImagoError('registry-not-found', `${client.registry}/${repository} lost ${digest}.`);
      }
      await client.putManifest(repository, 'latest', manifest, signal);
      await expectTag(client, repository, 'latest', digest, signal);
    });
  }
}

/** The regions that had the image at some time: their `latest` is kept right when the last version is gone. */
function regionsFact(gallery: string, image: string): string {
  return `regions/${gallery}/${image}`;
}

/** The default gallery is the repository itself, every other one is below it. */
export function repositoryOf(
  { defaultGallery }: Pick<RegistryContext, 'defaultGallery'>,
  { repository }: Pick<RegionPlace, 'repository'>,
  { gallery, image }: Pick<VersionKey, 'gallery' | 'image'>,
): string {
  return [repository, ...(gallery === defaultGallery ? [] : [gallery.toLowerCase()]), image].join('/');
}
