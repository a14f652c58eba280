// The shape of an NTFS volume, from its boot sector, and what all parts of the reader answer with when bytes cannot
// be true.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';

export interface NtfsShape {
  readonly clusterSize: number;
  readonly clusters: number;
  readonly recordSize: number;
  /** Bytes between the places that are guarded by fix-ups. */
  readonly stride: number;
  /** The first cluster of the master file table. */
  readonly mftCluster: number;
}

export function ntfsInvalid(message: string): ImagoError {
  return new ImagoError('ntfs-invalid', `The NTFS volume cannot be read: ${message}.`);
}

/** Whether a volume begins as one of NTFS. One that is encrypted by BitLocker is `ntfs-encrypted`. */
export async function isNtfs(source: ByteSource): Promise<boolean> {
  if (source.size < 512) return false;
  const name = (await readBytes(source, 0, 512)).toString('latin1', 3, 11);
  if (name === '-FVE-FS-') {
    throw new ImagoError('ntfs-encrypted', 'The volume is encrypted by BitLocker and cannot be read.');
  }
  return name === 'NTFS    ';
}

/** Throws `ntfs-invalid` for numbers that no volume of NTFS has. */
export async function readShape(source: ByteSource): Promise<NtfsShape> {
  if (!(await isNtfs(source))) throw ntfsInvalid('it does not begin with a boot sector of NTFS');
  const boot = await readBytes(source, 0, 512);
  const sector = boot.readUInt16LE(11);
  const clusterSize = sector * powerOrCount(boot.readUInt8(13));
  const recordByte = boot.readInt8(64);
  const recordSize = recordByte < 0 ? 2 ** -recordByte : recordByte * clusterSize;
  const good =
    isPower(sector, 512, 4096) && isPower(clusterSize, 512, 2 ** 21) && isPower(recordSize, 1024, 65536);
  if (!good) throw ntfsInvalid('its sectors, clusters or records have an impossible size');
  const clusters = Math.floor((u64(boot, 40) * sector) / clusterSize);
  if (clusters * clusterSize > source.size) throw ntfsInvalid('it is larger than its partition');
  const mftCluster = u64(boot, 48);
  if (mftCluster * clusterSize + recordSize > clusters * clusterSize) {
    throw ntfsInvalid('its file table lies outside of it');
  }
  return { clusterSize, clusters, recordSize, stride: 512, mftCluster };
}

/** Clusters above 64 KiB are stated as a power of two, in negative. */
function powerOrCount(byte: number): number {
  return byte > 0x80 ? 2 ** (256 - byte) : byte;
}

function isPower(value: number, least: number, most: number): boolean {
  return value >= least && value <= most && Number.isInteger(Math.log2(value));
}

/** A number of 64 bits; what is too large to be true becomes infinite. */
export function u64(bytes: Buffer, at: number): number {
  const high = bytes.readUInt32LE(at + 4);
  return high >= 2 ** 20 ? Number.POSITIVE_INFINITY : bytes.readUInt32LE(at) + high * 2 ** 32;
}

const epochSeconds = 11_644_473_600;

/** Whole seconds since 1970 of a time that counts 100 ns since 1601. */
export function unixSeconds(bytes: Buffer, at: number): number {
  return Math.floor((bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32) / 1e7) - epochSeconds;
}
