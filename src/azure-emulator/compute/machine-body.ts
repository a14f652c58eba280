// The parts that virtual machines, instances and the models of scale sets share, as Azure completes and shows them.
import { type Document, stableId } from '../arm/documents.ts';
import type { Face } from '../arm/face.ts';
import { echo, isObject, type Json, listAt, part, textAt } from '../arm/json.ts';
import { azureTime } from '../arm/operations.ts';
import { contentOf, digestOf, findDocument, gigabytes } from '../content/content.ts';
import { performanceOf } from '../disk/disk-sizes.ts';
import type { ResolvedImage } from './image-reference.ts';

/** Nothing secret is ever shown. */
export function shownOsProfile(given: Json, flexible: boolean): Json {
  if (Object.keys(given).length === 0) return {};
  const { adminPassword: _, customData: _data, ...rest } = given;
  const linux = part(given, 'linuxConfiguration');
  const patch = flexible
    ? { patchSettings: { patchMode: 'ImageDefault', assessmentMode: 'ImageDefault' } }
    : {};
  const windows = part(given, 'windowsConfiguration');
  return {
    ...rest,
    ...(Object.keys(linux).length === 0
      ? {}
      : {
          linuxConfiguration: {
            disablePasswordAuthentication: false,
            provisionVMAgent: true,
            ...patch,
            ...linux,
          },
        }),
    ...(Object.keys(windows).length === 0
      ? {}
      : { windowsConfiguration: { provisionVMAgent: true, enableAutomaticUpdates: true, ...windows } }),
    secrets: given.secrets ?? [],
    allowExtensionOperations: given.allowExtensionOperations ?? true,
    requireGuestProvisionSignal: given.requireGuestProvisionSignal ?? true,
  };
}

/** Linux is configured even if the client does not say how. */
export function withConfiguration(profile: Json, osType: string): Json {
  const named = 'linuxConfiguration' in profile || 'windowsConfiguration' in profile;
  if (Object.keys(profile).length === 0 || named) return profile;
  const name = osType === 'Windows' ? 'windowsConfiguration' : 'linuxConfiguration';
  return {
    ...profile,
    [name]: osType === 'Windows' ? { provisionVMAgent: true } : { disablePasswordAuthentication: false },
  };
}

export interface DiskOwner {
  readonly face: Face;
  readonly id: string;
  readonly group: string;
  readonly location: string;
  /** Of the machine, in the name of its disks. */
  readonly name: string;
  readonly own: Json;
}

/** Makes the disk of a machine, and returns it as the machine shows it. */
export function makeDisk(
  owner: DiskOwner,
  given: Json,
  defaults: {
    readonly name: string;
    readonly osType?: string;
    readonly bytes: number;
    readonly digest: string;
    readonly reference?: Json;
  },
): Json {
  const { face, group, location } = owner;
  const attached = textAt(given, 'managedDisk', 'id');
  if (attached !== undefined && given.createOption === 'Attach')
    return attach(owner, given, attached, defaults.osType);
  const name = textAt(given, 'name') ?? defaults.name;
  const scope = owner.id.slice(0, owner.id.toLowerCase().indexOf('/providers/'));
  const id = `${scope}/providers/Microsoft.Compute/disks/${name}`;
  const sku = textAt(given, 'managedDisk', 'storageAccountType') ?? 'Premium_LRS';
  const bytes = Math.max(defaults.bytes, Number(given.diskSizeGB ?? 0) * 2 ** 30);
  const size = gigabytes(bytes);
  const { osType, reference } = defaults;
  const properties = {
    ...(osType === undefined ? {} : { osType }),
    creationData:
      reference === undefined
        ? { createOption: 'Empty' }
        : { createOption: 'FromImage', imageReference: reference },
    ...{
      diskSizeGB: size,
      ...performanceOf(sku, size),
      encryption: { type: 'EncryptionAtRestWithPlatformKey' },
    },
    ...{
      networkAccessPolicy: 'AllowAll',
      publicNetworkAccess: 'Enabled',
      timeCreated: azureTime(face.clock.now()),
    },
    ...{ diskState: 'Attached', diskSizeBytes: bytes, uniqueId: stableId(id) },
  };
  const body = { managedBy: owner.id, sku: { name: sku, tier: sku.split(/_|SSD/)[0] }, properties };
  const host = osType === undefined ? {} : { host: owner.own };
  const own = { digest: defaults.digest, bytes, ...host };
  face.documents.set({ id, group, type: 'disks', name, location, body, own });
  return shownDisk(given, { name, sku, id, size, osType });
}

function attach(owner: DiskOwner, given: Json, id: string, osType: string | undefined): Json {
  const found = findDocument(owner.face, id);
  const sku = textAt(found?.body, 'sku', 'name') ?? 'Standard_LRS';
  const size = Number(
    part(found?.body, 'properties').diskSizeGB ?? gigabytes(contentOf(owner.face, id).bytes),
  );
  if (found !== undefined) {
    const properties = { ...part(found.body, 'properties'), diskState: 'Attached' };
    owner.face.documents.set({ ...found, body: { ...found.body, managedBy: owner.id, properties } });
  }
  return shownDisk(given, { name: found?.name ?? id.split('/').at(-1) ?? '', sku, id, size, osType });
}

function shownDisk(
  given: Json,
  disk: {
    readonly name: string;
    readonly sku: string;
    readonly id: string;
    readonly size: number;
    readonly osType: string | undefined;
  },
): Json {
  const { managedDisk, ...rest } = given;
  return {
    ...(disk.osType === undefined ? {} : { osType: disk.osType }),
    ...echo(rest),
    name: disk.name,
    createOption: given.createOption,
    caching: given.caching ?? (disk.osType === undefined ? 'None' : 'ReadWrite'),
    managedDisk: { storageAccountType: disk.sku, ...part({ managedDisk }, 'managedDisk'), id: disk.id },
    diskSizeGB: disk.size,
    ...(disk.osType === undefined ? { toBeDetached: false } : {}),
  };
}

/** Releases the disks of a machine that is gone: some are deleted with it, others stay. */
export function releaseDisks(face: Face, { id, body }: Document): void {
  const storage = part(body, 'properties', 'storageProfile');
  for (const disk of [part(storage, 'osDisk'), ...listAt(storage, 'dataDisks').filter(isObject)]) {
    const found = face.documents.get(textAt(disk, 'managedDisk', 'id') ?? '');
    if (found === undefined || textAt(found.body, 'managedBy')?.toLowerCase() !== id.toLowerCase()) continue;
    if (disk.deleteOption === 'Delete') face.documents.delete(found.id);
    else detach(face, found);
  }
}

export function detach(face: Face, disk: Document): void {
  const { managedBy: _, ...body } = disk.body;
  const { host: _host, ...own } = disk.own ?? {};
  const properties = { ...part(body, 'properties'), diskState: 'Unattached' };
  face.documents.set({ ...disk, body: { ...body, properties }, own });
}

/** The digest of a machine's own disk: it differs from its image as soon as the machine has run. */
export function diskDigest(machine: string, image: ResolvedImage): string {
  return digestOf(machine, image.model.gallery, image.model.image, image.model.version);
}

/** Names that Azure makes up end with 32 digits. */
export function longId(...parts: readonly string[]): string {
  return stableId(...parts).replaceAll('-', '');
}
