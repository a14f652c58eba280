// Finds the kernel, its initrd and its arguments on a finished disk, so that a machine can be started with
// them directly, without firmware: the fastest way to start, from the same bytes that firmware would use.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, partOf } from '../bytes/byte-source.ts';
import { readFatFile } from '../fat/reader.ts';
import { readGpt } from '../gpt/reader.ts';
import { partitionTypes, sectorSize } from '../gpt/table.ts';
import { readUkiSections } from './uki.ts';

export interface BootParts {
  readonly kernel: Buffer;
  readonly initrd: Buffer;
  readonly cmdline: string;
  readonly kernelVersion: string;
}

const maxUki = 512 * 1024 * 1024;

/**
 * Reads the unified kernel image of a disk (without VHD footer). Undefined when the disk has no EFI system
 * partition or no unified kernel image on it; throws when what is there is damaged.
 */
export async function readBootParts(disk: ByteSource): Promise<BootParts | undefined> {
  const { partitions } = await readGpt(disk);
  const esp = partitions.find(({ type }) => type === partitionTypes.efiSystem);
  if (esp === undefined) return undefined;
  const size = (esp.lastSector - esp.firstSector + 1) * sectorSize;
  const part = partOf(disk, esp.firstSector * sectorSize, size);
  const program = await readFatFile(part, 'EFI/BOOT/BOOTX64.EFI', maxUki);
  if (program === undefined) return undefined;
  const sections = readUkiSections(program);
  const kernel = sections.get('.linux');
  if (kernel === undefined) return undefined;
  const text = (name: string) =>
    (sections.get(name) ?? Buffer.alloc(0)).toString('utf8').replace(/\0+$/, '').trim();
  const initrd = sections.get('.initrd');
  if (initrd === undefined)
    throw new ImagoError('boot-files-invalid', 'the unified kernel image has no initrd');
  return { kernel, initrd, cmdline: text('.cmdline'), kernelVersion: text('.uname') };
}
