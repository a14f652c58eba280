// The sockets of a machine and its place in the network of its pool: created before its process starts, replaced by a
// newer daemon, removed when the process has exited.
import { rm, rmdir } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { ProcessIds } from '../../../host/process/system-user.ts';
import { writeEndpoints, writeGuard } from '../network/guard.ts';
import { freeNumber, machineCards, type PoolPlace } from '../network/plan.ts';
import { writeRelay, writeRelayPrograms } from '../network/relay.ts';
import { writeSwitch } from '../network/switch.ts';
import { type HostMachineState, isLive } from '../qemu/machine-host.ts';
import { machineFiles, machineSockets, poolFolder, poolSocket } from '../qemu/paths.ts';
import type { MachineRecord } from '../qemu/record.ts';
import { makePassage, makeSocketFolder, removeSocketFolder } from './socket-folder.ts';

/** A machine that this host knows. */
export interface NetworkMember {
  readonly record: MachineRecord;
  readonly state: HostMachineState;
}

export interface MachineNetwork {
  /** Returns the machine's place in its pool: its current one, or a free one. `undefined` without a pool. */
  place(id: string, pool: string | undefined): PoolPlace | undefined;
  /** Creates the sockets, scripts, and directories that the process of the machine needs. A second call replaces them. */
  open(record: MachineRecord, ids?: ProcessIds): Promise<OpenNetwork>;
  /** Removes the sockets of a machine that does not run, and the directory of its pool with the last one. */
  close(record: MachineRecord): Promise<void>;
}

export interface OpenNetwork {
  /** Whether a filter reads what the machine sends. */
  readonly guarded: boolean;
  /** Whether the machine is in the network of a pool. */
  readonly pooled: boolean;
}

export function createMachineNetwork(
  socketFolder: string,
  members: ReadonlyMap<string, NetworkMember>,
): MachineNetwork {
  function* membersOf(pool: string): Generator<NetworkMember> {
    for (const member of members.values()) if (member.record.spec.network.pool === pool) yield member;
  }

  function poolOf({ spec, place }: MachineRecord) {
    const { pool } = spec.network;
    const card = machineCards(spec.metadata.machineId, place).pool;
    return pool === undefined || card === undefined
      ? undefined
      : { pool, card, folder: poolFolder(socketFolder, pool) };
  }

  return {
    place(id, pool) {
      if (pool === undefined) return undefined;
      const taken = new Set<number>();
      for (const { record } of membersOf(pool)) {
        if (record.place !== undefined && record.spec.id === id) return record.place;
        if (record.place !== undefined) taken.add(record.place.number);
      }
      const number = freeNumber(taken);
      if (number === undefined)
        throw new ImagoError('provider-quota', `The network of pool ${pool} is full.`);
      return { number };
    },
    async open(record, ids) {
      const paths = { ...machineFiles(record.spec.folder), ...machineSockets(socketFolder, record.spec.id) };
      await makePassage(socketFolder, ids);
      await makePassage(paths.services, ids);
      await makeSocketFolder(paths.folder, ids);
      const programs = await writeRelayPrograms(paths.services);
      await writeRelay({ script: paths.relay, programs, sockets: paths.services });
      await writeEndpoints(record.spec, paths);
      const guarded = await writeGuard(paths);
      const found = poolOf(record);
      if (found === undefined) return { guarded, pooled: false };
      await makeSocketFolder(found.folder, ids);
      return { guarded, pooled: await writeSwitch(found.folder, found.card, paths) };
    },
    async close(record) {
      const { folder, services } = machineSockets(socketFolder, record.spec.id);
      await removeSocketFolder(folder);
      await removeSocketFolder(services);
      const found = poolOf(record);
      if (found === undefined) return;
      await rm(poolSocket(found.folder, found.card.mac), { force: true });
      if (![...membersOf(found.pool)].some(isLive)) await rmdir(found.folder).catch(() => undefined);
    },
  };
}
