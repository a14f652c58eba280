// Runs the cloud in virtual time: every piece of work ends at a time that is known when it starts.
import type { CapturedDisk, Executor } from '../../cloud/state/cloud.ts';
import { sha256 } from '../../cloud/state/cloud.ts';
import type { DiskContent } from '../../cloud/state/rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { type MachineColumns, machinePower } from './state/machine-rows.ts';
import { endOf, type SimContext } from './world/context.ts';

export function createVirtualExecutor(context: Omit<SimContext, 'executor'>): Executor {
  const { world } = context;
  return {
    endOf: (kind, name, bend) => endOf(context, kind, name, bend),
    findDisk: async (diskDigest) =>
      world.get<DiskContent>(
        'SELECT digest, diskDigest, diskBytes, traits FROM sealedDisk WHERE diskDigest = ? LIMIT 1',
        diskDigest,
      ),
    workOnVersion: () => undefined,
    readDigest: async ({ diskDigest }) => diskDigest ?? '',
    galleryLimits: async () => [],
    captureDisk: (disk) => captureDisk(world, context.homeRegion, disk),
    workOnSnapshot: () => undefined,
  };
}

type DiskOwner = MachineColumns & { readonly region: string };

/**
 * A disk goes with its machine. Two snapshots of a disk that nothing writes to have the same content, two of a
 * running one have not.
 */
function captureDisk(world: World, homeRegion: string, disk: string): CapturedDisk | undefined {
  const owner = findOwner(world, homeRegion, /^disk\/(.+)$/.exec(disk)?.[1] ?? '');
  if (owner === undefined) return undefined;
  const { machineId, region, diskBytes, traits } = owner;
  const now = world.time();
  const writtenAt = machinePower(owner, now) === 'stopped' ? owner.powerSince : now;
  const diskDigest = `sha256:${sha256('disk', machineId, owner.imagedAt, writtenAt)}`;
  return { machineId, region, digest: null, diskDigest, diskBytes, traits };
}

function findOwner(world: World, homeRegion: string, machineId: string): DiskOwner | undefined {
  const columns = `machineId, busyWith, readyAt, imagedAt, bootedAt, powerTo, powerSince, powerAt, hasDisk,
    diskBytes, traits`;
  const live = 'machineId = ?1 AND hasDisk = 1 AND t.goneAt IS NULL';
  return (
    world.get<DiskOwner>(
      `SELECT ${columns}, pool.region FROM node t JOIN pool ON pool.name = t.pool WHERE ${live}`,
      machineId,
    ) ??
    world.get<DiskOwner>(
      `SELECT ${columns}, ifnull(spec ->> 'region', ?2) AS region FROM machine t WHERE ${live}`,
      machineId,
      homeRegion,
    )
  );
}
