// Addresses of a machine's network cards. A machine has the same ones for its whole life, because guests
// remember cards by them; machines of one pool have different ones.
import { createHash } from 'node:crypto';
import { hostOfMachines } from '../../../domain/cluster/control-plane.ts';
import type { InterfaceFacts } from '../imds/instance-document.ts';

/** Every machine has the same address here: the network ends in its own process. */
export const mainNetwork = {
  subnet: '168.63.129.0',
  prefix: 24,
  gateway: hostOfMachines,
  dns: '168.63.129.2',
  /** Azure's wire server. */
  wire: '168.63.129.16',
  machine: '168.63.129.100',
} as const;

/** A range kept for benchmarks (RFC 2544), which no network of a user's is likely to have. */
export const poolNetwork = {
  ...{ subnet: '198.18.0.0', mask: '255.255.0.0', prefix: 16, first: 10, last: 65_000 },
  /** Gives each machine its address, and has no other use. */
  dhcp: { mac: '02:00:00:00:00:fe', address: '198.18.0.1' },
} as const;

export interface PoolCard {
  readonly mac: string;
  readonly address: string;
}

export interface MachineCards {
  readonly main: string;
  readonly metadata: string;
  readonly pool?: PoolCard;
}

/** The pool's number of this machine, if it is in a pool. */
export interface PoolPlace {
  readonly number: number;
}

export function machineCards(machineId: string, place: PoolPlace | undefined): MachineCards {
  const main = macAddress(machineId, 0);
  const metadata = macAddress(machineId, 1);
  if (place === undefined) return { main, metadata };
  return { main, metadata, pool: { mac: macAddress(machineId, 2), address: poolAddress(place.number) } };
}

/** Locally administered, unicast. */
function macAddress(machineId: string, card: number): string {
  const bytes = [...createHash('sha256').update(machineId).digest().subarray(0, 4)];
  return [2, ...bytes, card].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
}

function poolAddress(number: number): string {
  return `198.18.${Math.floor(number / 256)}.${number % 256}`;
}

/** Returns the interfaces as in instance metadata: the pool's first, because other machines of the pool use it. */
export function interfaceFacts(cards: MachineCards): InterfaceFacts[] {
  const { subnet, prefix, machine } = mainNetwork;
  const main = { mac: cards.main, address: machine, subnet, prefix };
  if (cards.pool === undefined) return [main];
  const { mac, address } = cards.pool;
  return [{ mac, address, subnet: poolNetwork.subnet, prefix: poolNetwork.prefix }, main];
}

/** The smallest number that no machine of the pool has; `undefined` when all are taken. */
export function freeNumber(taken: ReadonlySet<number>): number | undefined {
  for (let number: number = poolNetwork.first; number <= poolNetwork.last; number += 1) {
    const last = number % 256;
    if (last !== 0 && last !== 255 && !taken.has(number)) return number;
  }
  return undefined;
}
