// Whether there is memory for another machine, before it is started: a host that swaps, or kills the largest
// process, harms every machine on it.
import { readFileSync } from 'node:fs';
import { sizeOf } from '../../../cloud/state/machine-rows.ts';
import type { MachineRow } from '../../../cloud/state/rows.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { MachineHost } from '../qemu/machine-host.ts';
import { readSize } from './machine-size.ts';

/** Memory that is reserved for everything else on the host. */
const headroomMb = 256;
const pageBytes = 4096;
const mebibyte = 1024 * 1024;

/** A machine that has, or will take, memory. */
export interface MemoryClaim {
  readonly memoryMb: number;
  /** Of its process, once it runs. */
  readonly pid: number | undefined;
}

export interface MemoryGauge {
  /** Returns the available memory of the host, or of the container that we run in. */
  availableMb(): number;
  /** What the process holds already. */
  residentMb(pid: number): number;
}

export const systemGauge: MemoryGauge = {
  availableMb: () => process.availableMemory() / mebibyte,
  residentMb(pid) {
    try {
      const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
      return (pages * pageBytes) / mebibyte;
    } catch {
      return 0;
    }
  },
};

/** What new machines may take: what is available, less what those that there are may still ask for. */
export function freeMb(gauge: MemoryGauge, claims: readonly MemoryClaim[]): number {
  const promised = claims.reduce((sum, { memoryMb, pid }) => {
    const held = pid === undefined ? 0 : gauge.residentMb(pid);
    return sum + Math.max(0, memoryMb - held);
  }, 0);
  return Math.max(0, Math.floor(gauge.availableMb() - promised - headroomMb));
}

/** Throws `machine-memory-short`, with what is free and what is needed. */
export function requireMemory(
  gauge: MemoryGauge,
  claims: readonly MemoryClaim[],
  wanted: { readonly count: number; readonly memoryMb: number },
): void {
  const neededMb = wanted.count * wanted.memoryMb;
  const free = freeMb(gauge, claims);
  if (neededMb <= free) return;
  const machines = wanted.count === 1 ? 'A machine needs' : `${wanted.count} machines need`;
  throw new ImagoError(
    'machine-memory-short',
    `${machines} ${neededMb} MB of memory, and ${free} MB are free on this host.`,
    { details: { neededMb, freeMb: free } },
  );
}

/** Returns every machine that runs or is to run, but for one. */
export function memoryClaims(
  { world, host }: { readonly world: World; readonly host: MachineHost },
  but = '',
): readonly MemoryClaim[] {
  const rows = world.all<MachineRow>('SELECT * FROM machine WHERE deletedAt IS NULL AND machineId <> ?', but);
  return rows.flatMap((row) => {
    const { pid } = host.status(row.machineId);
    if (pid === undefined && (row.powerTo === 'stopped' || row.powerDue === 0)) return [];
    return [{ memoryMb: readSize(sizeOf(world, row)).memoryMb, pid }];
  });
}
