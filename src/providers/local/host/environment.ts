// What a host of machines stands on: its folders, its keys, QEMU and what runs a machine's instructions.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileSafely } from '../../../host/files/safe-file.ts';
import { type DocumentSigner, openDocumentSigner } from '../imds/document-signer.ts';
import { openTokenIssuer, type TokenIssuer } from '../imds/local-token.ts';
import { type RelayPrograms, writeRelayPrograms } from '../network/relay.ts';
import { type Accelerator, probeAccelerator } from '../qemu/accelerator.ts';
import { machineKey } from '../qemu/paths.ts';
import { requireQemu } from '../qemu/program.ts';
import { type MachineRecords, machineRecords } from '../qemu/record.ts';

export interface MachineHostOptions {
  /** Records, keys and the remembered accelerator; of this user alone. */
  readonly folder: string;
  /** For sockets: a short path, of this user alone and of this host alone. */
  readonly socketFolder: string;
  /** The path of QEMU; absent: it is looked for when a machine starts. */
  readonly qemu?: string;
  /** Absent: probed when the first machine starts, and remembered. */
  readonly accelerator?: Accelerator;
  /** Told what went wrong in the background. */
  onTrouble?(message: string, error: unknown): void;
}

export interface HostGround {
  readonly socketFolder: string;
  readonly records: MachineRecords;
  /** The programs that carry connections of machines. */
  readonly relay: RelayPrograms;
  readonly tokens: TokenIssuer;
  readonly documents: DocumentSigner;
  /** Tells the networks of this host's pools from those of others. */
  readonly hostKey: string;
  /** `tool-missing` when there is no QEMU. */
  hypervisor(): Promise<{ readonly qemu: string; readonly accelerator: Accelerator }>;
  trouble(message: string, error: unknown): void;
}

export async function openGround(options: MachineHostOptions): Promise<HostGround> {
  const { folder, socketFolder } = options;
  const recordFolder = join(folder, 'machines');
  await mkdir(recordFolder, { recursive: true, mode: 0o700 });
  await mkdir(socketFolder, { recursive: true, mode: 0o700 });
  return {
    socketFolder,
    records: machineRecords(recordFolder),
    relay: await writeRelayPrograms(folder),
    tokens: await openTokenIssuer(join(folder, 'identity-key.pem')),
    documents: await openDocumentSigner(join(folder, 'attestation.pem')),
    hostKey: await openHostKey(join(folder, 'host-key')),
    async hypervisor() {
      const qemu = options.qemu ?? (await requireQemu());
      const cacheFile = join(folder, 'accelerator.json');
      return { qemu, accelerator: options.accelerator ?? (await probeAccelerator({ qemu, cacheFile })) };
    },
    trouble: (message, error) => options.onTrouble?.(message, error),
  };
}

/** Removes the sockets of machines that are not known any more. */
export async function removeStraySockets(folder: string, ids: Iterable<string>): Promise<void> {
  const kept = new Set([...ids].map(machineKey));
  for (const name of await readdir(folder))
    if (/^[0-9a-f]{12}$/.test(name) && !kept.has(name))
      await rm(join(folder, name), { recursive: true, force: true });
}

async function openHostKey(path: string): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => undefined);
  if (known !== undefined) return known;
  const key = randomBytes(16).toString('hex');
  await writeFileSafely(path, key);
  return key;
}
