// Which networks of pools this host stands in, and who has which address there.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { freeNumber, machineCards, type PoolPlace } from '../network/plan.ts';
import type { MachineRecord } from '../qemu/record.ts';
import { type Entry, isLive } from './entry.ts';
import { joinPool, type PoolStation, poolGroup } from './pool-dhcp.ts';

export interface PoolNetworks {
  /** The machine's place in the pool: the one that it has, or a free one. `undefined` without a pool. */
  place(id: string, pool: string | undefined): PoolPlace | undefined;
  /** Stands in the network of the machine's pool, if it has one. A second call changes nothing. */
  enter(record: MachineRecord): Promise<void>;
  /** Leaves the networks in which no machine lives any more. */
  leaveEmpty(): Promise<void>;
  close(): Promise<void>;
}

export function createPoolNetworks(hostKey: string, entries: ReadonlyMap<string, Entry>): PoolNetworks {
  const stations = new Map<string, Promise<PoolStation>>();

  function* recordsOf(pool: string): Generator<MachineRecord> {
    for (const { record } of entries.values()) if (record.spec.network.pool === pool) yield record;
  }

  function addressOf(pool: string, mac: string): string | undefined {
    for (const { spec, place } of recordsOf(pool)) {
      const card = machineCards(spec.metadata.machineId, place).pool;
      if (card?.mac === mac) return card.address;
    }
    return undefined;
  }

  async function leave(pool: string): Promise<void> {
    const station = stations.get(pool);
    stations.delete(pool);
    await (await station)?.close();
  }

  return {
    place(id, pool) {
      if (pool === undefined) return undefined;
      const taken = new Set<number>();
      for (const { spec, place } of recordsOf(pool)) {
        if (place !== undefined && spec.id === id) return place;
        if (place !== undefined) taken.add(place.number);
      }
      const number = freeNumber(taken);
      if (number === undefined) throw new ImagoError('provider-quota', `the network of ${pool} is full`);
      return { number, ...poolGroup(hostKey, pool) };
    },
    async enter({ spec, place }) {
      const { pool } = spec.network;
      if (pool === undefined || place === undefined) return;
      const station = stations.get(pool) ?? joinPool(place, (mac) => addressOf(pool, mac));
      stations.set(pool, station);
      await station.catch((error: unknown) => {
        stations.delete(pool);
        throw error;
      });
    },
    async leaveEmpty() {
      const used = new Set(
        [...entries.values()].filter(isLive).map(({ record }) => record.spec.network.pool),
      );
      for (const pool of stations.keys()) if (!used.has(pool)) await leave(pool);
    },
    async close() {
      for (const pool of stations.keys()) await leave(pool);
    },
  };
}
