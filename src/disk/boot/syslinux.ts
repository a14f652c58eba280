// Makes the EFI system partition start by BIOS too (Azure generation 1). The installer of syslinux knows
// how its boot sector must be patched; through mtools it does so inside of a plain file, as any user.
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { runTool, systemPath } from '../../host/process/run-tool.ts';
import { type Environment, requireTool } from '../../host/tools/tools.ts';
import { readFully, writeFully } from '../bytes/byte-source.ts';

export interface SyslinuxInput {
  readonly disk: string;
  /** Where the FAT file system begins. It has a folder SYSLINUX. */
  readonly offset: number;
  readonly epoch: number;
  /** For the temporary files of mtools. */
  readonly folder: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function syslinuxConfig(cmdline: string): string {
  return `DEFAULT imago\nPROMPT 0\nTIMEOUT 0\nLABEL imago\n  LINUX vmlinuz\n  INITRD initrd\n  APPEND ${cmdline}\n`;
}

export async function installSyslinux(input: SyslinuxInput): Promise<void> {
  const syslinux = await requireTool('syslinux', input.tools);
  const mcopy = await requireTool('mcopy', input.tools);
  const args = ['--offset', String(input.offset), '--directory', '/syslinux', '--install', input.disk];
  await runTool(syslinux, args, {
    signal: input.signal,
    folder: input.folder,
    env: {
      PATH: `${dirname(mcopy)}:${systemPath}`,
      TMPDIR: input.folder,
      HOME: input.folder,
      SOURCE_DATE_EPOCH: String(input.epoch),
    },
  });
  await copyBootSector(input.disk, input.offset);
}

/** FAT32 keeps a second copy of the boot sector, which the installer leaves as it was. */
async function copyBootSector(disk: string, offset: number): Promise<void> {
  const file = await open(disk, 'r+');
  try {
    const bootSector = await readFully(file, offset, Buffer.alloc(512));
    await writeFully(file, offset + bootSector.readUInt16LE(50) * 512, bootSector);
  } finally {
    await file.close();
  }
}
