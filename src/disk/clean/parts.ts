// The partitions of a disk by what they hold. A partition that cannot be read cannot be cleaned either: it is refused.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, partOf, readBytes } from '../bytes/byte-source.ts';
import { isZero } from '../bytes/extent.ts';
import { type Ext4Reader, openExt4 } from '../ext4/reader.ts';
import { readGpt } from '../gpt/reader.ts';
import { type GptPartition, partitionTypes, sectorSize } from '../gpt/table.ts';

export interface DiskPart {
  readonly partition: GptPartition;
  readonly kind: 'ext4' | 'fat' | 'swap' | 'boot-code' | 'empty';
  /** In bytes, from the start of the disk. */
  readonly offset: number;
  readonly size: number;
}

/** An ext4 file system, and where the system mounts it: empty for the root. */
export interface MountedPart {
  readonly part: DiskPart;
  readonly mount: string;
  readonly reader: Ext4Reader;
}

const biosBoot = '21686148-6449-6e6f-744e-656564454649';
const windowSize = 1024 * 1024;

export function uncleanable(message: string): ImagoError {
  return new ImagoError('disk-uncleanable', message);
}

/** Throws `gpt-invalid`, and `disk-uncleanable` for content that is none of the known kinds. */
export async function readParts(disk: ByteSource): Promise<DiskPart[]> {
  const { partitions } = await readGpt(disk);
  const parts: DiskPart[] = [];
  for (const partition of partitions) {
    const offset = partition.firstSector * sectorSize;
    const size = (partition.lastSector - partition.firstSector + 1) * sectorSize;
    parts.push({ partition, kind: await kindOf(partition, partOf(disk, offset, size)), offset, size });
  }
  return parts;
}

async function kindOf(partition: GptPartition, source: ByteSource): Promise<DiskPart['kind']> {
  if (partition.type === biosBoot) return 'boot-code';
  const start = await readBytes(source, 0, Math.min(source.size, 4096));
  if (start.length >= 2048 && start.readUInt16LE(1024 + 0x38) === 0xef53) return 'ext4';
  if (start.toString('latin1', 4086, 4096) === 'SWAPSPACE2') return 'swap';
  const isFat = ['FAT16', 'FAT32'].some((name, index) =>
    start.toString('latin1', 54 + index * 28).startsWith(name),
  );
  if (isFat) return 'fat';
  if (await isEmpty(source)) return 'empty';
  throw uncleanable(`partition ${partition.number} is not ext4, FAT, or swap`);
}

async function isEmpty(source: ByteSource): Promise<boolean> {
  for (let at = 0; at < source.size; at += windowSize) {
    if (!isZero(await readBytes(source, at, Math.min(windowSize, source.size - at)))) return false;
  }
  return true;
}

/**
 * Opens all ext4 file systems of a disk, the root first. Throws `disk-uncleanable` if there is no root, or if its fstab
 * does not mount one of the others: the checklist is written in paths of the running system.
 */
export async function openMounted(disk: ByteSource, parts: readonly DiskPart[]): Promise<MountedPart[]> {
  const opened: { part: DiskPart; reader: Ext4Reader }[] = [];
  for (const part of parts.filter(({ kind }) => kind === 'ext4')) {
    opened.push({ part, reader: await openExt4(partOf(disk, part.offset, part.size)) });
  }
  const root = await findRoot(opened);
  const fstab = await readFstab(root.reader);
  const others = opened.filter((one) => one !== root);
  return [
    { ...root, mount: '' },
    ...others.map(({ part, reader }) => ({ part, reader, mount: mountOf(part, reader, fstab) })),
  ];
}

async function findRoot<T extends { part: DiskPart; reader: Ext4Reader }>(opened: readonly T[]): Promise<T> {
  const typed = opened.find(({ part }) => part.partition.type === partitionTypes.linuxRootX64);
  if (typed !== undefined) return typed;
  for (const one of opened) if ((await one.reader.find('/etc')) !== undefined) return one;
  throw uncleanable('the disk has no ext4 root file system');
}

async function readFstab(reader: Ext4Reader): Promise<ReadonlyMap<string, string>> {
  const entry = await reader.find('/etc/fstab');
  if (entry === undefined || entry.type !== 'file') return new Map();
  const lines = (await reader.read(entry, windowSize)).toString('utf8').split('\n');
  return new Map(
    lines
      .map((line) => line.trim().split(/\s+/))
      .filter(([device = '#', mount = '']) => !device.startsWith('#') && mount.startsWith('/'))
      .map(([device = '', mount = '']) => [device.replaceAll('"', ''), mount]),
  );
}

function mountOf({ partition }: DiskPart, { shape }: Ext4Reader, fstab: ReadonlyMap<string, string>): string {
  const names = [
    `UUID=${shape.uuid}`,
    `/dev/disk/by-uuid/${shape.uuid}`,
    `LABEL=${shape.label}`,
    `PARTUUID=${partition.guid}`,
    `PARTLABEL=${partition.name}`,
  ];
  const mount = names.map((name) => fstab.get(name)).find((found) => found !== undefined);
  if (mount !== undefined && mount !== '/') return mount;
  throw uncleanable(`partition ${partition.number} has a file system that /etc/fstab does not mount`);
}
