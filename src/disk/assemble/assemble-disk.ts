// Assembles the bootable disk: a GPT with an EFI system partition that starts by UEFI (a unified kernel
// image) and by BIOS (syslinux), and an ext4 root with a journal. Runs as any user, without loop
// devices, and makes the same bytes from the same input, wherever and whenever.
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { publishFile } from '../../host/files/durable-files.ts';
import { withWorkFolder } from '../../host/files/work-folder.ts';
import { runTool, systemPath } from '../../host/process/run-tool.ts';
import { type Environment, readToolFile, requireTool } from '../../host/tools/tools.ts';
import type { BootFiles } from '../boot/boot-files.ts';
import { makeUki } from '../boot/uki.ts';
import { openFileSource, readFully, writeFully } from '../bytes/byte-source.ts';
import { makeExt4 } from '../ext4/make.ts';
import { type Ext4Usage, ext4Block, measureEntries } from '../ext4/size.ts';
import { layOutFat } from '../fat/layout.ts';
import { readGpt } from '../gpt/reader.ts';
import { encodeGpt, sectorSize } from '../gpt/table.ts';
import type { MergedTree } from '../tar/merged-tree.ts';
import { type DiskLayout, layOutDisk } from './layout.ts';
import { requireDiskRoom } from './room.ts';

/** A root file system as a tar stream, with its measure. */
export interface RootContent {
  readonly usage: Ext4Usage;
  stream(signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

export function rootContent(tree: MergedTree): RootContent {
  return { usage: measureEntries(tree.entries()), stream: (signal) => tree.stream(signal) };
}

export type DiskStep = 'boot' | 'root' | 'write';

export interface DiskProgress {
  readonly step: DiskStep;
  readonly bytes: number;
  /** An estimate, never less than `bytes`. */
  readonly total: number;
}

export interface DiskInput {
  readonly root: RootContent;
  /** Can still be pending: the root is made concurrently. */
  readonly boot: BootFiles | Promise<BootFiles>;
  /** Kernel arguments, without `root=`: that is added. */
  readonly cmdline: string;
  readonly epoch: number;
  /**
   * All ids on the disk follow from it. Give all versions of one image the same seed (its name):
   * ext4 mixes its UUID into every checksum, and another one would change all of its metadata.
   */
  readonly seed: string;
  /** Bytes, whole MiB. */
  readonly size: number;
  /** Where the raw disk goes; replaced when it is there. */
  readonly path: string;
  /** For unfinished files; on the same file system as `path`. */
  readonly workFolder: string;
  /** Where programs and boot files are found: those that a lock names decide about bytes. This machine's unless given. */
  readonly tools?: Environment | undefined;
  /** False for a disk that is read once and thrown away: it is not flushed to the machine's disk. True unless given. */
  readonly durable?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: DiskProgress) => void;
}

export interface AssembledDisk {
  readonly path: string;
  readonly size: number;
  /** The whole kernel command line, for those who start the kernel directly. */
  readonly cmdline: string;
  readonly layout: DiskLayout;
}

/**
 * Makes the disk, or leaves nothing behind. Throws `disk-too-small` before anything is written. A second
 * call with the same input makes the same bytes again.
 */
export async function assembleDisk(input: DiskInput): Promise<AssembledDisk> {
  const layout = layOutDisk(input.size, input.seed);
  requireDiskRoom(input.size, input.root.usage);
  const cmdline = fullCmdline(input.cmdline, layout);
  await withWorkFolder(input.workFolder, async (folder) => {
    const disk = join(folder, 'disk.raw');
    const file = await open(disk, 'wx+');
    try {
      await file.truncate(input.size);
    } finally {
      await file.close();
    }
    await sideBySide(input.signal, [
      (signal) => makeBootPart(disk, folder, { ...input, signal }, layout, cmdline),
      (signal) => writeRoot(disk, folder, { ...input, signal }, layout),
    ]);
    await checkTable(disk);
    throwIfAborted(input.signal);
    input.onProgress?.({ step: 'write', bytes: 0, total: input.size });
    if (input.durable === false) await rename(disk, input.path);
    else await publishFile(disk, input.path);
    input.onProgress?.({ step: 'write', bytes: input.size, total: input.size });
  });
  return { path: input.path, size: input.size, cmdline, layout };
}

/** Works on parts that have nothing to do with each other. If one fails, the others are aborted and awaited. */
async function sideBySide(
  outer: AbortSignal | undefined,
  works: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const failed = new AbortController();
  const signal = outer === undefined ? failed.signal : AbortSignal.any([outer, failed.signal]);
  const faults: unknown[] = [];
  await Promise.all(
    works.map((work) =>
      work(signal).catch((error: unknown) => {
        faults.push(error);
        failed.abort();
      }),
    ),
  );
  if (faults.length > 0) throw faults[0];
}

function fullCmdline(given: string, layout: DiskLayout): string {
  const words = given.split(/\s+/).filter((word) => word !== '');
  if (words.some((word) => word.startsWith('root='))) {
    throw new ImagoError(
      'input-invalid',
      'the kernel arguments must not say where the root is: the disk decides that',
    );
  }
  const cmdline = [`root=PARTUUID=${layout.root.guid}`, ...words].join(' ');
  if (Buffer.byteLength(cmdline) > 2000 || /[^\x20-\x7e]/.test(cmdline)) {
    throw new ImagoError(
      'input-invalid',
      'the kernel arguments are longer than 2000 characters or not plain text',
    );
  }
  return cmdline;
}

/** Partition table, and the partition that the system starts from. */
async function makeBootPart(
  disk: string,
  folder: string,
  input: DiskInput,
  layout: DiskLayout,
  cmdline: string,
): Promise<void> {
  const boot = await input.boot;
  const file = await open(disk, 'r+');
  try {
    await writeBootPart(file, input, boot, layout, cmdline);
  } finally {
    await file.close();
  }
  const { epoch, tools, signal } = input;
  await installSyslinux({ disk, offset: layout.esp.offset, epoch, folder, tools, signal });
}

async function writeBootPart(
  file: FileHandle,
  input: DiskInput,
  boot: BootFiles,
  layout: DiskLayout,
  cmdline: string,
): Promise<void> {
  const { kernel, initrd, osRelease, kernelVersion } = boot;
  const stub = await readToolFile('linuxx64.efi.stub', input.tools);
  const bootCode = (await readToolFile('gptmbr.bin', input.tools)).subarray(0, 440);
  const uki = makeUki({ stub, kernel, initrd, cmdline, osRelease, kernelVersion });
  const pieces = layOutFat({
    size: layout.esp.size,
    firstSector: layout.esp.offset / sectorSize,
    volumeId: layout.volumeId,
    label: 'ESP',
    epoch: input.epoch,
    files: [
      { path: 'SYSLINUX/VMLINUZ', content: kernel },
      { path: 'SYSLINUX/INITRD', content: initrd },
      { path: 'SYSLINUX/SYSLINUX.CFG', content: Buffer.from(syslinuxConfig(cmdline)) },
      { path: 'EFI/BOOT/BOOTX64.EFI', content: uki },
    ],
  });
  const total = pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
  let bytes = 0;
  for (const piece of pieces) {
    throwIfAborted(input.signal);
    await writeFully(file, layout.esp.offset + piece.offset, piece.bytes);
    bytes += piece.bytes.length;
    input.onProgress?.({ step: 'boot', bytes, total });
  }
  const table = encodeGpt(input.size, layout.diskGuid, layout.partitions, bootCode);
  await writeFully(file, 0, table.primary);
  await writeFully(file, table.backupOffset, table.backup);
}

async function writeRoot(disk: string, folder: string, input: DiskInput, layout: DiskLayout): Promise<void> {
  const expected = input.root.usage.blocks * ext4Block;
  async function* counted() {
    let bytes = 0;
    for await (const chunk of input.root.stream(input.signal)) {
      yield chunk;
      bytes += chunk.length;
      input.onProgress?.({ step: 'root', bytes, total: Math.max(bytes, expected) });
    }
  }
  await makeExt4({
    path: disk,
    offset: layout.root.offset,
    size: layout.root.size,
    uuid: layout.filesystemUuid,
    hashSeed: layout.hashSeed,
    label: 'root',
    epoch: input.epoch,
    usage: input.root.usage,
    content: counted(),
    workFolder: folder,
    tools: input.tools,
    signal: input.signal,
  });
}

async function checkTable(disk: string): Promise<void> {
  const source = await openFileSource(disk);
  try {
    await readGpt(source);
  } finally {
    await source.close();
  }
}

interface SyslinuxInput {
  readonly disk: string;
  /** Where the FAT file system begins. It has a folder SYSLINUX. */
  readonly offset: number;
  readonly epoch: number;
  /** For the temporary files of mtools. */
  readonly folder: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

function syslinuxConfig(cmdline: string): string {
  return `DEFAULT imago\nPROMPT 0\nTIMEOUT 0\nLABEL imago\n  LINUX vmlinuz\n  INITRD initrd\n  APPEND ${cmdline}\n`;
}

async function installSyslinux(input: SyslinuxInput): Promise<void> {
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
