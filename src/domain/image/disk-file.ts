// Tells the formats of disk files apart by their first and last bytes, and refuses what is no disk. One place for
// whoever looks at a file: the command before it sends it, and the store before it takes it.
import { ImagoError } from '../error/imago-error.ts';
import { formatBytes } from '../value/bytes.ts';

export type DiskFormat = 'raw' | 'vhd-fixed' | 'vhd-dynamic' | 'qcow2';

/** The formats of exported disks by the names that users give. `vhd` is fixed, as Azure requires. */
export const exportFormats = {
  vhd: 'vhd-fixed',
  'vhd-dynamic': 'vhd-dynamic',
  raw: 'raw',
  qcow2: 'qcow2',
} as const satisfies Readonly<Record<string, DiskFormat>>;
export type ExportFormat = keyof typeof exportFormats;
export const exportFormatNames = Object.keys(exportFormats) as readonly ExportFormat[];

export const diskSector = 512;
/** Where the mark stands that ends the first sector of every disk with a partition table. */
const markAt = 510;
const externalDataFile = 1n << 2n;
/** As large as the boot disk of any cloud. */
const maxDiskBytes = 2 * 1024 ** 4;
const qcow2SizeAt = 24;
const vhdSizeAt = 48;

export interface DiskFileEnds {
  readonly size: number;
  /** The first sector, or all that there is. */
  readonly start: Uint8Array;
  /** The last sector, or all that there is. */
  readonly end: Uint8Array;
}

/**
 * The format of a disk file; one that has no mark of a format is raw. Throws `input-invalid` for what is too short,
 * and for a qcow2 file that would make its reader follow it to other files of the machine.
 */
export function diskFileFormat({ size, start, end }: DiskFileEnds): DiskFormat {
  if (size < diskSector) throw invalid('the file is too short to be a disk', wholeDiskHint);
  if (latin1(start, 4) === 'QFI\xfb') {
    requirePlainQcow2(start);
    return 'qcow2';
  }
  if (latin1(start, 8) === 'conectix') {
    requireSize(start, vhdSizeAt);
    return 'vhd-dynamic';
  }
  return latin1(end, 8) === 'conectix' ? 'vhd-fixed' : 'raw';
}

/** Throws `input-invalid` unless a disk with this first sector has a partition table, as all that start have. */
export function requirePartitionTable(start: Uint8Array): void {
  if (start[markAt] === 0x55 && start[markAt + 1] === 0xaa) return;
  throw invalid(
    'The file is no disk that a machine can start from: it has no partition table.',
    wholeDiskHint,
  );
}

const wholeDiskHint = 'Give a whole disk, as raw file, VHD or qcow2; not a partition or an archive.';

function requirePlainQcow2(start: Uint8Array): void {
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const version = start.byteLength < 80 ? 0 : view.getUint32(4);
  if (version !== 2 && version !== 3) throw invalid('the qcow2 file has an unknown version');
  if (view.getBigUint64(8) !== 0n) {
    throw invalid(
      'the qcow2 file builds on another file, and cannot be read alone',
      'Flatten it first: qemu-img convert -O qcow2 OLD NEW.',
    );
  }
  if (version === 3 && (view.getBigUint64(72) & externalDataFile) !== 0n) {
    throw invalid('the qcow2 file keeps its data in another file, and cannot be read alone');
  }
  requireSize(start, qcow2SizeAt);
}

/** A small file can describe a disk of any size. */
function requireSize(start: Uint8Array, at: number): void {
  const bytes = Number(new DataView(start.buffer, start.byteOffset, start.byteLength).getBigUint64(at));
  if (bytes <= maxDiskBytes) return;
  throw invalid(`The disk has ${formatBytes(bytes)}, and the largest that Imago takes has 2 TiB.`);
}

function latin1(bytes: Uint8Array, length: number): string {
  return String.fromCharCode(...bytes.subarray(0, length));
}

function invalid(message: string, hint?: string): ImagoError {
  return new ImagoError('input-invalid', message, hint === undefined ? {} : { hint });
}
