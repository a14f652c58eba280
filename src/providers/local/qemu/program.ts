// Finds QEMU and its firmware on this host.
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { systemPath } from '../../../host/process/run-tool.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Firmware {
  readonly code: string;
  /** An empty store of variables; each machine has a copy of its own. */
  readonly variables: string;
}

const program = 'qemu-system-x86_64';
const extraFolders = ['/opt/homebrew/bin', '/opt/local/bin', '/usr/libexec'];

const firmwares: readonly Firmware[] = [
  { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', variables: '/usr/share/OVMF/OVMF_VARS_4M.fd' },
  { code: '/usr/share/OVMF/OVMF_CODE.fd', variables: '/usr/share/OVMF/OVMF_VARS.fd' },
  { code: '/usr/share/edk2/x64/OVMF_CODE.4m.fd', variables: '/usr/share/edk2/x64/OVMF_VARS.4m.fd' },
  { code: '/usr/share/edk2/ovmf/OVMF_CODE.fd', variables: '/usr/share/edk2/ovmf/OVMF_VARS.fd' },
  {
    code: '/opt/homebrew/share/qemu/edk2-x86_64-code.fd',
    variables: '/opt/homebrew/share/qemu/edk2-i386-vars.fd',
  },
  { code: '/usr/local/share/qemu/edk2-x86_64-code.fd', variables: '/usr/local/share/qemu/edk2-i386-vars.fd' },
];

/** The path of QEMU: IMAGO_QEMU, or the first one on the path. `undefined` when there is none. */
async function findQemu(env: Environment = process.env): Promise<string | undefined> {
  if (env.IMAGO_QEMU !== undefined && env.IMAGO_QEMU !== '')
    return (await usable(env.IMAGO_QEMU, constants.X_OK)) ? env.IMAGO_QEMU : undefined;
  const folders = [...(env.PATH ?? '').split(':'), ...systemPath.split(':'), ...extraFolders];
  for (const folder of new Set(folders.filter((part) => part.startsWith('/')))) {
    const path = join(folder, program);
    if (await usable(path, constants.X_OK)) return path;
  }
  return undefined;
}

/** As findQemu, and `tool-missing` when there is none. */
export async function requireQemu(env: Environment = process.env): Promise<string> {
  const path = await findQemu(env);
  if (path !== undefined) return path;
  throw new ImagoError('tool-missing', `This host has no ${program}.`, {
    hint: 'Install QEMU 7.2 or newer (Debian: qemu-system-x86), or set IMAGO_QEMU to its path.',
  });
}

/** Returns UEFI firmware. Throws `tool-missing` if this host has none. */
export async function requireFirmware(): Promise<Firmware> {
  for (const firmware of firmwares) {
    const parts = await Promise.all(
      [firmware.code, firmware.variables].map((path) => usable(path, constants.R_OK)),
    );
    if (parts.every(Boolean)) return firmware;
  }
  throw new ImagoError('tool-missing', 'This host has no UEFI firmware for machines.', {
    hint: 'Install it (Debian: ovmf), or start the machine by BIOS or directly.',
  });
}

async function usable(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
