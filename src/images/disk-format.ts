// Tells the formats of disk files apart by their content, and refuses those that would make a reader
// follow them to other files of this machine.
import { ImagoError } from '../domain/errors.ts';
import { type ByteSource, readBytes } from './byte-source.ts';
import { isVhdFooter, vhdSector } from './vhd-footer.ts';

export type DiskFormat = 'raw' | 'vhd-fixed' | 'vhd-dynamic' | 'qcow2';

const externalDataFile = 1n << 2n;

/** The format of a disk file. A disk that has no mark of a format is raw. */
export async function detectDiskFormat(file: ByteSource): Promise<DiskFormat> {
  if (file.size < vhdSector) throw new ImagoError('input-invalid', 'the file is too short to be a disk');
  const start = await readBytes(file, 0, vhdSector);
  if (start.toString('latin1', 0, 4) === 'QFI\xfb') return 'qcow2';
  if (isVhdFooter(start)) return 'vhd-dynamic';
  return isVhdFooter(await readBytes(file, file.size - vhdSector, vhdSector)) ? 'vhd-fixed' : 'raw';
}

/** Throws `input-invalid` for a qcow2 file that names a backing file or an external data file. */
export async function requirePlainQcow2(file: ByteSource): Promise<void> {
  const header = await readBytes(file, 0, Math.min(104, file.size));
  const version = header.length < 80 ? 0 : header.readUInt32BE(4);
  if (version !== 2 && version !== 3)
    throw new ImagoError('input-invalid', 'the qcow2 file has an unknown version');
  if (header.readBigUInt64BE(8) !== 0n) {
    throw new ImagoError('input-invalid', 'the qcow2 file builds on another file, and cannot be read alone', {
      hint: 'Flatten it first: qemu-img convert -O qcow2 OLD NEW.',
    });
  }
  if (version === 3 && (header.readBigUInt64BE(72) & externalDataFile) !== 0n) {
    throw new ImagoError(
      'input-invalid',
      'the qcow2 file keeps its data in another file, and cannot be read alone',
    );
  }
}
