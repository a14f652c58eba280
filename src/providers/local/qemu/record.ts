// What the host must remember of a machine to find it again after the daemon was killed: one file a machine.
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenForward } from '../../../domain/pool/port-forward.ts';
import { writeFileDurably } from '../../../host/files/durable-files.ts';
import type { PlatformHealth } from '../imds/machine-metadata.ts';
import type { PoolPlace } from '../network/plan.ts';
import type { HostMachine, MachineEnd } from './machine-host.ts';
import { machineKey } from './paths.ts';

export interface MachineRecord {
  readonly format: 1;
  readonly spec: HostMachine;
  readonly startedAt: string;
  /** The boot id of the host, to detect a restart. */
  readonly computerBoot: string;
  readonly place?: PoolPlace;
  readonly forwards: readonly OpenForward[];
  /** How the last run ended; absent as long as it is not known to have ended. */
  readonly end?: MachineEnd;
  readonly health?: PlatformHealth;
}

export interface MachineRecords {
  write(record: MachineRecord): Promise<void>;
  remove(id: string): Promise<void>;
  /** A file that cannot be read is left where it is, and named. */
  readAll(): Promise<{ readonly records: MachineRecord[]; readonly unreadable: string[] }>;
}

export function machineRecords(folder: string): MachineRecords {
  const path = (id: string) => join(folder, `${machineKey(id)}.json`);
  return {
    write: (record) => writeFileDurably(path(record.spec.id), JSON.stringify(record)),
    remove: (id) => rm(path(id), { force: true }),
    async readAll() {
      const records: MachineRecord[] = [];
      const unreadable: string[] = [];
      for (const name of (await readdir(folder)).sort()) {
        const file = join(folder, name);
        if (name.endsWith('.new')) await rm(file, { force: true });
        else if (name.endsWith('.json')) {
          const record = await readRecord(file);
          if (record === undefined) unreadable.push(file);
          else records.push(record);
        }
      }
      return { records, unreadable };
    },
  };
}

async function readRecord(file: string): Promise<MachineRecord | undefined> {
  try {
    const record = JSON.parse(await readFile(file, 'utf8')) as MachineRecord;
    return record.format === 1 && typeof record.spec.id === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the boot id of this host; empty if it is unknown. */
export async function computerBoot(): Promise<string> {
  return readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
}
