// Finds images, versions, and channels by name. What does not exist is an error that names the nearest.

import { ImagoError } from '../../domain/error/imago-error.ts';
import { channelNotFound, imageNotFound } from '../../domain/resolve/resolve.ts';
import type { Catalogue, ChannelRecord, ImageRecord, VersionRecord } from '../../ports/database/catalog.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import { type OperationDeps, requireImages } from './deps.ts';

interface Deps {
  readonly catalogue: Catalogue;
}

/** Throws `image-not-found`. */
export async function requireImage({ catalogue }: Deps, name: string): Promise<ImageRecord> {
  const image = await catalogue.getImage(name);
  if (image !== undefined) return image;
  const { items } = await catalogue.listImages({ limit: 1000 });
  throw imageNotFound(
    name,
    items.map((item) => item.name),
  );
}

/** Returns deleted versions too: their records are kept. Throws `version-not-found` or `image-not-found`. */
export async function requireVersion(deps: Deps, image: string, version: string): Promise<VersionRecord> {
  const found = await deps.catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  await requireImage(deps, image);
  await deps.catalogue.resolve(`${image}:${version}`);
  throw new ImagoError('version-not-found', `Image ${image} has no version ${version}.`);
}

/** Throws `channel-not-found` or `image-not-found`. */
export async function requireChannel(deps: Deps, image: string, name: string): Promise<ChannelRecord> {
  const channel = await deps.catalogue.getChannel(image, name);
  if (channel !== undefined) return channel;
  await requireImage(deps, image);
  const known = await deps.catalogue.listChannels(image);
  throw channelNotFound(
    image,
    name,
    known.map((item) => item.name),
  );
}

/** The store, if it has the version's disk. Throws `store-not-found`. */
export async function requireStored(
  deps: OperationDeps,
  { image, version, digest }: Pick<VersionRecord, 'image' | 'version' | 'digest'>,
): Promise<ImageStore> {
  const images = requireImages(deps);
  if ((await images.find(digest)) !== undefined) return images;
  throw new ImagoError('store-not-found', `The disk of ${image}:${version} is not in the local store.`, {
    hint: 'It is simulated, or another provider or host has it: pull it from there.',
  });
}
