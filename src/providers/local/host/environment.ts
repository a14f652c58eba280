// The environment of a machine host: its directories, its keys, QEMU, and the accelerator.
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessIds, SystemUser } from '../../../host/process/system-user.ts';
import { openTokenIssuer, type TokenIssuer } from '../imds/local-token.ts';
import { type Accelerator, machineIds, probeAccelerator } from '../qemu/accelerator.ts';
import { machineKey } from '../qemu/paths.ts';
import { requireQemu } from '../qemu/program.ts';
import { type MachineRecords, machineRecords } from '../qemu/record.ts';
import { removeSocketFolder } from './socket-folder.ts';

export interface MachineHostOptions {
  /** Records, keys and the remembered accelerator; of this user alone. */
  readonly folder: string;
  /** For sockets: a short path, of this user alone and of this host alone. */
  readonly socketFolder: string;
  /** The path of QEMU; absent: it is looked for when a machine starts. */
  readonly qemu?: string;
  /** Absent: probed when the first machine starts, and remembered. */
  readonly accelerator?: Accelerator;
  /** Returns the user that machines run as. Needed if the caller is root; absent: the caller's own user. */
  user?(): SystemUser;
  /** Called for errors in the background. */
  onTrouble?(message: string, error: unknown): void;
}

export interface HostGround {
  readonly socketFolder: string;
  readonly records: MachineRecords;
  readonly tokens: TokenIssuer;
  /** `tool-missing` if there is no QEMU, `machine-user` if there is no user that it can run as. */
  hypervisor(): Promise<Hypervisor>;
  trouble(message: string, error: unknown): void;
}

export interface Hypervisor {
  readonly qemu: string;
  readonly accelerator: Accelerator;
  /** The user that QEMU runs as; absent: the user of this process. */
  readonly ids?: ProcessIds;
}

export async function openGround(options: MachineHostOptions): Promise<HostGround> {
  const { folder, socketFolder } = options;
  const recordFolder = join(folder, 'machines');
  await mkdir(recordFolder, { recursive: true, mode: 0o700 });
  await mkdir(socketFolder, { recursive: true, mode: 0o700 });
  return {
    socketFolder,
    records: machineRecords(recordFolder),
    tokens: await openTokenIssuer(join(folder, 'identity-key.pem')),
    async hypervisor() {
      const qemu = options.qemu ?? (await requireQemu());
      const cacheFile = join(folder, 'accelerator.json');
      const user = options.user?.();
      const ids = user === undefined ? {} : { ids: machineIds(user) };
      const accelerator = options.accelerator ?? (await probeAccelerator({ qemu, cacheFile, ...ids }));
      return { qemu, accelerator, ...ids };
    },
    trouble: (message, error) => options.onTrouble?.(message, error),
  };
}

/** Removes the sockets of unknown machines. */
export async function removeStraySockets(folder: string, ids: Iterable<string>): Promise<void> {
  const kept = new Set([...ids].map(machineKey));
  for (const name of await readdir(folder))
    if (/^[0-9a-f]{12}(-host)?$/.test(name) && !kept.has(name.slice(0, 12)))
      await removeSocketFolder(join(folder, name));
}
