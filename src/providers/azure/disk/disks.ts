// Snapshots: incremental copies of managed disks, in the region of the disk.

import { busy, conflict, notFound } from '../../../domain/error/refusals.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { Disks, Snapshot, SnapshotSpec } from '../../../ports/provider/disks.ts';
import { at, groupIn, namesIn } from '../arm/address.ts';
import type { Body, Resource, WireDisk, WireSnapshot, WireVersion } from '../arm/wire.ts';
import { type AzureContext, stateOf, toRegion } from '../context.ts';

type Found = Resource<WireSnapshot>;

const usedBy = 'imago-used-by';

export function azureDisks(context: AzureContext): Disks {
  const { arm, listings, book } = context;
  return {
    createSnapshot: (spec, options) => createSnapshot(context, spec, options),
    async getSnapshot(name, { signal }) {
      signal.throwIfAborted();
      const found = await arm.get<Found>(at('snapshots', name), signal);
      if (found === undefined) return undefined;
      const shown = toSnapshot(found);
      const error = shown.state === 'failed' ? await book.failureOf(arm, found.id, signal) : undefined;
      return error === undefined ? shown : { ...shown, error };
    },
    listSnapshots: (query, { signal }) =>
      listings.page(
        'snapshots',
        query,
        async () => (await arm.list<Found>(at('snapshots'), signal)).map(toSnapshot),
        ({ name }) => name,
      ),
    async deleteSnapshot(name, { signal }) {
      signal.throwIfAborted();
      await requireUnused(context, name, signal);
      await arm.delete(at('snapshots', name), signal);
    },
  };
}

/** Notes at the snapshot which version is made from it. */
export async function useSnapshot(
  { arm }: AzureContext,
  { name, tags = {} }: Found,
  version: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const change = { tags: { ...tags, [usedBy]: version.join('/') } };
  await arm.finish(await arm.patch(at('snapshots', name), change, signal), signal);
}

/** Azure deletes a snapshot also while a version is made from it, which then fails. */
async function requireUnused({ arm }: AzureContext, name: string, signal: AbortSignal): Promise<void> {
  const found = await arm.get<Found>(at('snapshots', name), signal);
  const version = found?.tags?.[usedBy]?.split('/');
  if (version === undefined) return;
  const made = await arm.get<Resource<WireVersion>>(at('galleries/images/versions', ...version), signal);
  if (made === undefined || stateOf(made.properties.provisioningState) !== 'creating') return;
  throw busy(`Version ${version.join('/')} is still being made from snapshot ${name}.`);
}

async function createSnapshot(
  { arm, book }: AzureContext,
  { name, disk, tags }: SnapshotSpec,
  { signal }: CallOptions,
): Promise<void> {
  signal.throwIfAborted();
  const address = at('snapshots', name);
  const found = await arm.get<Found>(address, signal);
  if (found !== undefined) {
    if (stateOf(found.properties.provisioningState) === 'deleting')
      throw busy(`Snapshot ${name} is being deleted.`);
    if (diskOf(found).toLowerCase() === disk.toLowerCase()) return;
    throw conflict(`Snapshot ${name} is of another disk.`);
  }
  const [named] = namesIn(disk, 'disks');
  const source =
    named === undefined
      ? undefined
      : await arm.get<Resource<WireDisk>>({ ...at('disks', named), group: groupIn(disk) }, signal);
  if (source === undefined) throw notFound(`There is no disk ${disk}.`);
  const body: Body<WireSnapshot> = {
    location: source.location,
    tags,
    sku: { name: 'Standard_LRS' },
    properties: { incremental: true, creationData: { createOption: 'Copy', sourceResourceId: disk } },
  };
  await book.note(arm.idOf(address), await arm.put(address, body, signal));
}

function diskOf({ properties: { creationData } }: Found): string {
  return creationData?.sourceResourceId ?? '';
}

function toSnapshot(found: Found): Snapshot {
  const { name, location, properties } = found;
  const { [usedBy]: _, ...tags } = found.tags ?? {};
  return {
    ...{ name, tags, disk: diskOf(found), region: toRegion(location) },
    state: stateOf(properties.provisioningState),
    sizeBytes: properties.diskSizeBytes ?? (properties.diskSizeGB ?? 0) * 2 ** 30,
    createdAt: new Date(properties.timeCreated ?? 0).toISOString(),
  };
}
