// Where the bytes of a version come from, as Azure takes it and as a tag keeps it.

import { busy, notFound } from '../../../domain/error/refusals.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { VersionSource } from '../../../ports/provider/gallery.ts';
import { type Address, at, namesIn } from '../arm/address.ts';
import type { Resource, WireDisk, WireSnapshot, WireVersion } from '../arm/wire.ts';
import { type AzureContext, stateOf } from '../context.ts';
import { useSnapshot } from '../disk/disks.ts';
import { uploadDisk } from '../disk/upload.ts';

type StorageProfile = WireVersion['storageProfile'];

/** What the tag says of a source. Tags hold at most 256 characters. */
export function sourceTag(source: VersionSource, gallery: string): string {
  switch (source.kind) {
    case 'disk':
      return `disk ${source.digest}`;
    case 'snapshot':
      return `snapshot ${source.name}`;
    case 'version':
      return `version ${source.gallery ?? gallery}/${source.image}/${source.version}`;
  }
}

/** Reads the tag; of a version that others made, what Azure says. */
export function readSource(
  tag: string | undefined,
  storage: StorageProfile | undefined,
  gallery: string,
): VersionSource {
  const [kind, text = ''] = tag?.split(' ') ?? [];
  if (kind === 'disk') return { kind, digest: text };
  if (kind === 'snapshot') return { kind, name: text };
  const id = storage?.source?.id ?? storage?.osDiskImage?.source?.id ?? '';
  const names = kind === 'version' ? text.split('/') : namesIn(id, 'galleries/images/versions');
  const [from, image, version] = names;
  if (from !== undefined && image !== undefined && version !== undefined) {
    return { kind: 'version', ...(from === gallery ? {} : { gallery: from }), image, version };
  }
  return { kind: 'snapshot', name: namesIn(id, 'snapshots')[0] ?? id };
}

/** Finds the source, and uploads it if it is a disk of the local store. Throws `provider-not-found`. */
export async function prepareSource(
  context: AzureContext,
  version: Address,
  source: VersionSource,
  location: string,
  options: CallOptions,
): Promise<StorageProfile> {
  const { arm } = context;
  if (source.kind === 'disk') {
    const disk = await uploadDisk(context, source.digest, location, options);
    return { osDiskImage: { source: { id: disk.id } } };
  }
  if (source.kind === 'snapshot') {
    const found = await arm.get<Resource<WireSnapshot>>(at('snapshots', source.name), options.signal);
    requireReady(found, `snapshot ${source.name}`);
    await useSnapshot(context, found, version.names, options.signal);
    return { osDiskImage: { source: { id: found.id } } };
  }
  const { image, version: number } = source;
  const [gallery = ''] = version.names;
  const address = at('galleries/images/versions', source.gallery ?? gallery, image, number);
  const found = await arm.get<Resource<WireVersion>>(address, options.signal);
  requireReady(found, `version ${image}:${number}`);
  return { source: { id: found.id } };
}

type Any = Resource<WireVersion> | Resource<WireSnapshot> | Resource<WireDisk>;

function requireReady<R extends Any>(found: R | undefined, what: string): asserts found is R {
  if (found === undefined) throw notFound(`There is no ${what} to make a version from.`);
  const state = stateOf(found.properties.provisioningState);
  if (state === 'deleting') throw notFound(`The ${what} is being deleted.`);
  if (state !== 'ready') throw busy(`The ${what} is ${state}.`);
}
