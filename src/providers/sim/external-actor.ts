// What others do to the simulated world behind Imago's back, and a look at all of it. No fault strikes here and
// no owner is compared: this is the hand of a person or of a cloud's own autoscaler.

import { toMachine } from '../../cloud/machine/machines.ts';
import { setCapacity } from '../../cloud/pool/pools.ts';
import { type Cloud, straight } from '../../cloud/state/cloud.ts';
import { toGalleryImage, toGallerySpec } from '../../cloud/state/gallery-rows.ts';
import { changeMachine, machineById, userDataOf } from '../../cloud/state/machine-rows.ts';
import { nodeReader, toProviderPool } from '../../cloud/state/pool-rows.ts';
import type {
  GalleryRow,
  ImageRow,
  MachineRow,
  PoolRow,
  SnapshotRow,
  VersionKey,
  VersionRow,
} from '../../cloud/state/rows.ts';
import { toSnapshot } from '../../cloud/state/snapshot-rows.ts';
import type { World } from '../../cloud/state/state-file.ts';
import { toGalleryVersion } from '../../cloud/state/version-rows.ts';
import { notFound } from '../../domain/error/refusals.ts';
import type { NodeReport } from '../../domain/node/report.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Snapshot } from '../../ports/provider/disks.ts';
import type { GalleryImage, GallerySpec, GalleryVersion } from '../../ports/provider/gallery.ts';
import type { Machine, MachineCommand, MachineCommandResult } from '../../ports/provider/machines.ts';
import type { ProviderNode, ProviderPool } from '../../ports/provider/pools.ts';
import { readTraits, type Traits } from './world/traits.ts';

/** Everything that there is, as the roles would show it now; to compare before and after. */
export interface WorldView {
  readonly galleries: readonly GallerySpec[];
  readonly images: readonly (GalleryImage & { readonly gallery: string })[];
  readonly versions: readonly (GalleryVersion & { readonly gallery: string })[];
  readonly pools: readonly ProviderPool[];
  readonly nodes: readonly ProviderNode[];
  readonly machines: readonly Machine[];
  readonly snapshots: readonly Snapshot[];
}

export interface WorldHand {
  /** An autoscaler or a person sets a pool's capacity. Throws what `setCapacity` throws. */
  setCapacityByOther(pool: string, capacity: number): void;
  /** Someone else takes a version out of a gallery, whatever guards it. */
  deleteVersionByOther(image: string, version: string, gallery?: string): void;
  /** Someone else puts a disk where versions can be made from it. A second time changes nothing. */
  addDiskByOther(diskDigest: string, diskBytes: number): void;
  /** Someone else has a version, ready, in a gallery that is not ours. A second time changes nothing. */
  addVersionByOther(version: ForeignVersion): void;
  /** What a machine, or a node, has said since it was switched on: its console, and the last report of its agent. */
  said(machineId: string): Promise<Said>;
  /** Runs a script in a machine, or a node, as its own agent does. Throws a retryable conflict if it does not listen. */
  run(machineId: string, command: MachineCommand): Promise<MachineCommandResult>;
  /** Changes the text that a machine, or a node, reads from instance metadata. */
  setUserData(machineId: string, userData: string): void;
  /** What the disk of a single machine carries. */
  traits(machine: string): Traits;
  view(): WorldView;
}

export interface Said {
  readonly lines: readonly string[];
  readonly report?: NodeReport;
  readonly userData: string;
}

export interface ForeignVersion extends VersionKey {
  readonly region: string;
  readonly definition: Omit<GalleryImage, 'name' | 'description'>;
  readonly diskDigest: string;
  readonly diskBytes: number;
}

export function createWorldHand(context: Cloud): WorldHand {
  const { world, executor } = context;
  return {
    setCapacityByOther: (pool, capacity) =>
      world.transaction(() => {
        setCapacity(context, pool, capacity, {}, straight);
      }),
    deleteVersionByOther: (image, version, gallery = context.defaultGallery) =>
      world.transaction(() => {
        const gone = { deletedAt: world.time(), goneAt: world.time() };
        world.update('version', { gallery, image, version }, gone);
      }),
    addDiskByOther: (diskDigest, diskBytes) =>
      world.transaction(() => {
        const names = [diskDigest, diskDigest, diskDigest];
        world.run(
          'INSERT OR IGNORE INTO sealedDisk VALUES (?, ?, ?, ?, ?, ?)',
          ...names,
          diskBytes,
          '{}',
          world.time(),
        );
      }),
    addVersionByOther: (version) => world.transaction(() => addVersion(world, version)),
    async said(machineId) {
      const { row, ...rest } = world.transaction(() => {
        const found = requireRow(world, machineId);
        const report = executor.nodeReport(found);
        return {
          row: found,
          userData: userDataOf(world, found),
          ...(report === undefined ? {} : { report }),
        };
      });
      return { lines: await executor.console(row, allLines), ...rest };
    },
    run(machineId, command) {
      const row = world.transaction(() => requireRow(world, machineId));
      return executor.runCommand(row, command, new AbortController().signal);
    },
    setUserData(machineId, userData) {
      world.transaction(() => {
        const row = requireRow(world, machineId);
        changeMachine(world, machineId, { userData, ...executor.setUserData(row, userData) });
      });
      executor.workOnMachines([machineId]);
    },
    traits: (machine) =>
      world.transaction(() => {
        const row = world.get<MachineRow>('SELECT * FROM machine WHERE pool IS NULL AND name = ?', machine);
        return readTraits(row?.traits ?? '{}');
      }),
    view: () => world.transaction(() => viewWorld(context)),
  };
}

const allLines = 100_000;

function requireRow(world: World, machineId: string): MachineRow {
  const row = machineById(world, machineId);
  if (row !== undefined) return row;
  throw notFound(`There is no machine ${machineId}.`);
}

function addVersion(world: World, { gallery, image, version, region, ...disk }: ForeignVersion): void {
  const now = world.time();
  const { os, architecture, generation, osState = 'generalized' } = disk.definition;
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const key = [gallery, image, version];
  world.run('INSERT OR IGNORE INTO gallery VALUES (?, ?, NULL)', gallery, region);
  world.run(
    'INSERT OR IGNORE INTO image VALUES (?, ?, ?, ?, ?, ?, NULL)',
    ...[gallery, image, os, architecture, generation, osState],
  );
  world.run(
    `INSERT OR IGNORE INTO version (gallery, image, version, major, minor, patch, source, digest, diskDigest,
       diskBytes, excludeFromLatest, blockDeletion, tags, busyUntil, createdAt)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '{}', ?, ?)`,
    ...[...key, major, minor, patch, canonicalJson({ kind: 'disk', digest: disk.diskDigest })],
    ...[disk.diskDigest, disk.diskDigest, disk.diskBytes, now, now],
  );
  world.run(
    `INSERT OR IGNORE INTO regionCopy (gallery, image, version, region, position, replicas, addedAt, startsAt, readyAt)
     SELECT ?1, ?2, ?3, ?4, count(*), 1, ?5, ?5, ?5 FROM regionCopy WHERE gallery = ?1 AND image = ?2 AND version = ?3`,
    ...[...key, region, now],
  );
}

function viewWorld(context: Cloud): WorldView {
  const { world, abilities } = context;
  const live = (table: string, order: string) =>
    `SELECT * FROM ${table} WHERE goneAt IS NULL OR goneAt > ${world.time()} ORDER BY ${order}`;
  const pools = world.all<PoolRow>(live('pool', 'name'));
  const readers = new Map(pools.map((pool) => [pool.name, nodeReader(context, pool)]));
  return {
    galleries: world
      .all<GalleryRow>('SELECT * FROM gallery ORDER BY name')
      .map((row) => toGallerySpec(row, abilities.regions.length > 0)),
    images: world
      .all<ImageRow>('SELECT * FROM image ORDER BY gallery, name')
      .map((row) => ({ gallery: row.gallery, ...toGalleryImage(row) })),
    versions: world
      .all<VersionRow>(live('version', 'gallery, image, major, minor, patch'))
      .map((row) => ({ gallery: row.gallery, ...toGalleryVersion(context, row) })),
    pools: pools.map((row) => toProviderPool(context, row)),
    nodes: world
      .all<MachineRow>(live('machine', 'pool, name'))
      .flatMap((row) => readers.get(row.pool ?? '')?.(row) ?? []),
    machines: world
      .all<MachineRow>(live('machine', 'name'))
      .filter(({ pool }) => pool === null)
      .map((row) => toMachine(context, row)),
    snapshots: world.all<SnapshotRow>(live('snapshot', 'name')).map((row) => toSnapshot(context, row)),
  };
}
