// Converts a stored machine to the spec that the host runs.

import { findImage } from '../../../cloud/state/gallery-rows.ts';
import { sizeOf } from '../../../cloud/state/machine-rows.ts';
import { readModel } from '../../../cloud/state/models.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { forwardOfNode, type PortForward } from '../../../domain/pool/port-forward.ts';
import type { MachineSpec } from '../../../ports/provider/machines.ts';
import { diskPath } from '../disk/machine-disk.ts';
import type { MachineMetadata } from '../imds/machine-metadata.ts';
import type { HostMachine, MachineBoot } from '../qemu/machine-host.ts';
import { type HostContext, machineFolder } from '../state/context.ts';
import type { CachedImage } from '../state/image-cache.ts';
import { readSize } from '../state/machine-size.ts';

const region = 'local';

export function hostMachine(context: HostContext, row: MachineRow, image: CachedImage): HostMachine {
  const folder = machineFolder(context, row.machineId);
  return {
    id: row.machineId,
    folder,
    disk: diskPath(folder, row.disk),
    backing: image.disk,
    boot: bootOf(context, row, image),
    ...(isBuild(row) && { build: true }),
    ...readSize(sizeOf(context.world, row)),
    network: {
      // The user data of a single machine can come from a recipe: it must not open a port of this host.
      ...(row.pool === null ? {} : { pool: row.pool, endpoints: 'config' as const }),
      forwards: forwardsOf(context.world, row),
    },
    metadata: metadataOf(context, row),
  };
}

function forwardsOf(world: World, row: MachineRow): readonly PortForward[] {
  if (row.appliedModel === null) return [];
  const { forwards = [] } = readModel(world, row.appliedModel);
  return forwards.map((forward) => forwardOfNode(forward, row.ordinal));
}

/** Returns the current metadata of the machine. */
export function metadataOf(context: HostContext, row: MachineRow): MachineMetadata {
  const { gallery, image, version, digest, size, userData, tags } = wordsOf(context.world, row);
  return {
    machineId: row.machineId,
    name: row.name,
    ...(row.pool === null ? {} : { pool: row.pool }),
    size,
    region,
    image: { gallery: gallery ?? context.defaultGallery, image, version, digest },
    userData: Buffer.from(userData).toString('base64'),
    tags,
  };
}

/** A node's image is that of its disk, and all else that of the model it was brought to. */
function wordsOf(world: World, row: MachineRow): Omit<MachineSpec, 'name' | 'firmware'> {
  if (row.spec !== null) return JSON.parse(row.spec) as MachineSpec;
  const { gallery, image, version, digest } = readModel(world, row.diskModel ?? '');
  const { size, nodeConfig, tags } = readModel(world, row.appliedModel ?? '');
  return {
    ...(gallery === undefined ? {} : { gallery }),
    image,
    version,
    digest,
    size,
    userData: row.userData ?? nodeConfig,
    tags,
  };
}

/** Nodes start the quickest way that their disk allows; machines as they were asked to. */
function bootOf(context: HostContext, row: MachineRow, image: CachedImage): MachineBoot {
  if (row.firmware !== 'direct') return { kind: row.firmware };
  if (image.direct !== undefined) return { kind: 'direct', ...image.direct };
  if (row.pool !== null) return { kind: firmwareOf(context, row) };
  if (isBuild(row)) return { kind: 'uefi' };
  throw new ImagoError(
    'provider-lacks',
    `The disk of machine ${row.name} has no kernel that can be started without firmware.`,
    { hint: 'Start it by uefi or bios.' },
  );
}

function firmwareOf({ world, defaultGallery }: HostContext, row: MachineRow): 'uefi' | 'bios' {
  const { gallery = defaultGallery, image } = readModel(world, row.diskModel ?? '');
  return findImage(world, gallery, image)?.generation === 1 ? 'bios' : 'uefi';
}

function isBuild({ spec }: MachineRow): boolean {
  return (JSON.parse(spec ?? '{}') as Partial<MachineSpec>).build === true;
}
