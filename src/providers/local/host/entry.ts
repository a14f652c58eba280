// One machine as the host has it in memory.

import { machineCards } from '../network/plan.ts';
import type { HostMachineState, HostMachineStatus } from '../qemu/machine-host.ts';
import type { MachineRecord, MachineRecords } from '../qemu/record.ts';
import type { RunningMachine } from './running-machine.ts';

export interface Entry {
  record: MachineRecord;
  state: Exclude<HostMachineState, 'absent'>;
  /** As long as its process runs, and until its end is written down. */
  machine?: RunningMachine;
  /** Somebody asked for its end, so that it is none of its own. */
  asked: boolean;
  /** Its process is gone, and that is being written down. */
  settling?: Promise<void>;
  writing: Promise<void>;
}

export function newEntry(record: MachineRecord, state: Entry['state']): Entry {
  return { record, state, asked: false, writing: Promise.resolve() };
}

/** Changes the record and writes it; the file never goes back to an older one. */
export async function saveEntry(
  records: MachineRecords,
  entry: Entry,
  change: Partial<MachineRecord>,
): Promise<void> {
  entry.record = { ...entry.record, ...change };
  entry.writing = entry.writing.catch(() => undefined).then(() => records.write(entry.record));
  await entry.writing;
}

export function isLive({ state }: Entry): boolean {
  return state !== 'stopped' && state !== 'failed';
}

export function absentStatus(id: string): HostMachineStatus {
  return { id, state: 'absent', forwards: [] };
}

export function statusOf({ record, state, machine }: Entry): HostMachineStatus {
  const [pid, halt] = [machine?.pid(), machine?.halt()];
  const address = machineCards(record.spec.metadata.machineId, record.place).pool?.address;
  return {
    id: record.spec.id,
    state,
    ...(pid === undefined ? {} : { pid }),
    startedAt: record.startedAt,
    ...(record.end === undefined ? {} : { end: record.end }),
    ...(halt === undefined ? {} : { halt }),
    forwards: record.forwards,
    ...(address === undefined ? {} : { address }),
    ...(record.health === undefined ? {} : { health: record.health }),
  };
}
