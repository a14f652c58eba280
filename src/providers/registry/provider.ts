// A gallery in OCI registries: each region is a repository, on one registry or on several. The versions are those of the
// local store with everything attached to them, so oras, skopeo, and cosign read them. There are no machines here.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createLanes } from '../../async/keyed-worker.ts';
import { findManifest, findStoredDisk } from '../../cloud/disk/stored-disk.ts';
import { cloudGalleries } from '../../cloud/gallery/galleries.ts';
import { cloudGallery } from '../../cloud/gallery/gallery.ts';
import type { Cloud, Executor } from '../../cloud/state/cloud.ts';
import { findGallery } from '../../cloud/state/gallery-rows.ts';
import type { VersionKey, VersionRow } from '../../cloud/state/rows.ts';
import { openCloudState } from '../../cloud/state/schema.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { lacks } from '../../domain/error/refusals.ts';
import { withWorkFolder } from '../../host/files/work-folder.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { type DiskStore, openDiskStore } from '../../oci/disks/disk-store.ts';
import { verifyDisk } from '../../oci/disks/verify-disk.ts';
import { parseDigest } from '../../oci/layout/digest.ts';
import type { Credentials } from '../../oci/registry/auth.ts';
import { RegistryClient } from '../../oci/registry/client.ts';
import { pull } from '../../oci/registry/pull.ts';
import { parseRegistryReference } from '../../oci/registry/reference.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Galleries, Gallery } from '../../ports/provider/gallery.ts';
import type { Abilities, Provider } from '../../ports/provider/provider.ts';
import { type RegistryContext, repositoryOf, workOnVersion } from './version-work.ts';

export interface RegistryProviderOptions {
  /** Has the rows of the gallery. */
  readonly folder: string;
  /** `REGION=HOST/REPOSITORY`, with commas. The first region is the gallery's own. */
  readonly regions: string;
  readonly store: DiskStore;
  readonly clock: Clock;
  readonly findCredentials: (registry: string) => Promise<Credentials | undefined>;
  readonly guard?: AddressGuard | undefined;
  readonly onTrouble?: (what: string, error: unknown) => void;
  readonly onRepaired?: (what: string) => void;
}

export interface RegistryProvider extends Provider {
  readonly gallery: Gallery;
  readonly galleries: Galleries;
}

const defaultGallery = 'imago';
const retryMs = 30_000;

/** Resumes the copies that an earlier process began. Throws `reference-malformed` for a repository that cannot be one. */
export function createRegistryProvider(options: RegistryProviderOptions): RegistryProvider {
  const { folder, store, clock } = options;
  const places = readRegions(options.regions);
  const [homeRegion = ''] = places.keys();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'gallery.db');
  const world = openCloudState(file, {
    name: 'The state of the registry gallery',
    unusable: 'local-state-unusable',
  });
  world.goBy(clock);
  const abilities = { ...registryAbilities, regions: [...places.keys()] };
  const closing = new AbortController();
  const making = new Map<string, AbortController>();
  const percents = new Map<string, number>();
  const lanes = createLanes({
    retryMs,
    onTrouble: options.onTrouble ?? (() => undefined),
    ...(options.onRepaired && { onRepaired: options.onRepaired }),
  });
  const context: RegistryContext = {
    ...{ world, store, defaultGallery },
    async withRegion(region, work) {
      const place = places.get(region);
      if (place === undefined) throw lacks(`The setting registry-regions has no region ${region}.`);
      const { registry, repository } = place;
      const credentials = await options.findCredentials(registry);
      const client = new RegistryClient({ registry, credentials, guard: options.guard });
      try {
        return await work({ client, repository });
      } finally {
        client.close();
      }
    },
    onProgress: (key, region, percent) => void percents.set(nameOf(key, region), percent),
  };

  /** Aborts the copies of a version that is being deleted. */
  function work(key: VersionKey): void {
    const name = nameOf(key);
    const isGoing = world.get(
      'SELECT 1 FROM version WHERE gallery = ? AND image = ? AND version = ? AND deletedAt IS NOT NULL',
      key.gallery,
      key.image,
      key.version,
    );
    if (isGoing !== undefined) making.get(name)?.abort();
    // One lane for each image: its versions share `latest`.
    lanes.run(`${key.gallery}/${key.image}`, () => workOnImage(key.gallery, key.image));
  }

  async function workOnImage(gallery: string, image: string): Promise<void> {
    const versions = world.all<VersionKey>(
      'SELECT gallery, image, version FROM version WHERE gallery = ? AND image = ? ORDER BY createdAt',
      ...[gallery, image],
    );
    for (const key of versions) {
      const abort = new AbortController();
      making.set(nameOf(key), abort);
      try {
        await workOnVersion(context, key, AbortSignal.any([abort.signal, closing.signal]));
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!abort.signal.aborted) throw error;
      } finally {
        making.delete(nameOf(key));
      }
    }
  }

  const cloud: Cloud = {
    ...{ world, abilities, homeRegion, defaultGallery },
    limits: {},
    longestGalleryName: 80,
    nodeNumberRadix: 10,
    zones: [],
    executor: {
      ...withoutMachines,
      endOf: () => null,
      findDisk: (diskDigest) => findStoredDisk(store, diskDigest),
      findSealed: (digest) => findManifest(store, digest),
      workOnVersion: work,
      copyPercent: (key, region) => percents.get(nameOf(key, region)) ?? 0,
      readDigest: (row, signal) => readDigest(context, folder, homeRegion, row, signal),
      galleryLimits: async () => [],
    },
  };
  world.transaction(() => {
    if (findGallery(world, defaultGallery) === undefined) {
      world.insert('gallery', { name: defaultGallery, region: homeRegion });
    }
  });
  for (const key of unfinished(world)) work(key);
  let closed: Promise<void> | undefined;
  return {
    name: 'registry',
    abilities,
    clock,
    gallery: cloudGallery(cloud, defaultGallery),
    galleries: cloudGalleries(cloud),
    close() {
      closed ??= (async () => {
        closing.abort();
        await lanes.close();
        world.close();
      })();
      return closed;
    },
  };
}

const registryAbilities: Abilities = {
  orchestration: [],
  reimage: false,
  upgrade: false,
  protect: false,
  regions: [],
  excludeFromLatest: true,
  deletionGuard: true,
  galleryDigest: true,
  snapshots: false,
  runCommand: false,
  fencing: true,
  simulated: false,
  ownClock: false,
};

function noMachines(): never {
  throw new ImagoError('internal', 'A registry has no machines.');
}

/** What is never called: the provider has no role with machines, disks, or pools. */
const withoutMachines = {
  ...{
    captureDisk: noMachines,
    workOnSnapshot: noMachines,
    sealSnapshot: noMachines,
    machineIds: noMachines,
  },
  ...{ checkSize: noMachines, requireRoom: noMachines, giveDisk: noMachines, applyModel: noMachines },
  ...{ switchPower: noMachines, power: noMachines, observe: noMachines, report: noMachines },
  ...{ nodeReport: noMachines, console: noMachines, runCommand: noMachines, setUserData: noMachines },
  ...{ allowChange: noMachines, workOnMachines: noMachines },
} satisfies Partial<Executor>;

interface Place {
  readonly registry: string;
  readonly repository: string;
}

function readRegions(text: string): ReadonlyMap<string, Place> {
  return new Map(
    text.split(',').map((entry) => {
      const [name = '', to = ''] = entry.split('=');
      const { registry, repository } = parseRegistryReference(to);
      return [name, { registry, repository }];
    }),
  );
}

function unfinished(world: World): readonly VersionKey[] {
  return world.all<VersionKey>(
    `SELECT gallery, image, version FROM version WHERE deletedAt IS NOT NULL
     UNION SELECT gallery, image, version FROM regionCopy WHERE readyAt IS NULL`,
  );
}

function nameOf({ gallery, image, version }: VersionKey, region = ''): string {
  return `${gallery}/${image}/${version}/${region}`;
}

/** Pulls the version from the gallery's own region into an empty store, and reads every byte of its disk. */
async function readDigest(
  context: RegistryContext,
  folder: string,
  region: string,
  row: VersionRow,
  signal: AbortSignal,
): Promise<string> {
  const { digest, diskDigest } = row;
  if (digest === null || diskDigest === null) throw new ImagoError('internal', 'A version has no digest.');
  return withWorkFolder(join(folder, 'work'), (work) =>
    context.withRegion(region, async (place) => {
      const store = await openDiskStore(join(work, 'store'));
      try {
        const repository = repositoryOf(context, place, row);
        await pull(
          store,
          { client: place.client, repository, reference: digest },
          { referrers: false, signal },
        );
        const { damages } = await verifyDisk(store, parseDigest(digest), { signal });
        const [damage] = damages;
        if (damage === undefined) return diskDigest;
        throw new ImagoError(
          'registry-corrupt',
          `${dirname(repository)} holds a damaged disk: ${damage.message}`,
        );
      } finally {
        await store.close();
      }
    }),
  );
}
