// Which machine has which address in the network of its pool, and the folder in which the switches of a pool meet.
import { rm, rmdir } from 'node:fs/promises';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { ProcessIds } from '../../../host/process/system-user.ts';
import { freeNumber, machineCards, type PoolPlace } from '../network/plan.ts';
import { poolFolder, poolSocket } from '../qemu/paths.ts';
import type { MachineRecord } from '../qemu/record.ts';
import { type Entry, isLive } from './entry.ts';
import { makeSocketFolder } from './socket-folder.ts';

export interface PoolNetworks {
  /** Returns the machine's place in the pool: the one that it has, or a free one. `undefined` without a pool. */
  place(id: string, pool: string | undefined): PoolPlace | undefined;
  /** Makes the folder of the machine's pool and returns it. A second call changes nothing. `undefined` without a pool. */
  enter(record: MachineRecord, ids: ProcessIds | undefined): Promise<string | undefined>;
  /** Removes the socket of a machine that does not run, and the folder if it is empty and no machine is about to use it. */
  leave(record: MachineRecord): Promise<void>;
}

export function createPoolNetworks(socketFolder: string, entries: ReadonlyMap<string, Entry>): PoolNetworks {
  function* entriesOf(pool: string): Generator<Entry> {
    for (const entry of entries.values()) if (entry.record.spec.network.pool === pool) yield entry;
  }

  return {
    place(id, pool) {
      if (pool === undefined) return undefined;
      const taken = new Set<number>();
      for (const { record } of entriesOf(pool)) {
        if (record.place !== undefined && record.spec.id === id) return record.place;
        if (record.place !== undefined) taken.add(record.place.number);
      }
      const number = freeNumber(taken);
      if (number === undefined) throw new ImagoError('provider-quota', `the network of ${pool} is full`);
      return { number };
    },
    async enter({ spec }, ids) {
      const { pool } = spec.network;
      if (pool === undefined) return undefined;
      const folder = poolFolder(socketFolder, pool);
      await makeSocketFolder(folder, ids);
      return folder;
    },
    async leave({ spec, place }) {
      const { pool } = spec.network;
      const card = machineCards(spec.metadata.machineId, place).pool;
      if (pool === undefined || card === undefined) return;
      const folder = poolFolder(socketFolder, pool);
      await rm(poolSocket(folder, card.mac), { force: true });
      if (![...entriesOf(pool)].some(isLive)) await rmdir(folder).catch(() => undefined);
    },
  };
}
