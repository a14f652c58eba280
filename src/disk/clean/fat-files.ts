// The files of an EFI system partition, FAT16 or FAT32, with their long names and where each of their bytes lies, so
// that files can be read and removed without mounting it. Strict and bounded, as all readers of foreign disks.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';

export interface FatVolume {
  readonly tableOffset: number;
  readonly tableSize: number;
  readonly tables: number;
  readonly entrySize: 2 | 4;
  readonly clusterSize: number;
  readonly clusters: number;
  readonly dataOffset: number;
  /** The sector that counts the free clusters, where there is one. */
  readonly infoOffset: number | undefined;
  /** The next cluster of each cluster; 0 for free ones. */
  readonly next: Uint32Array;
  readonly files: readonly FatFile[];
  /** Offsets of directory entries that are deleted. */
  readonly deleted: readonly number[];
}

export interface FatFile {
  /** From the root of the volume, in the letters that were written: `/loader/random-seed`. */
  readonly path: string;
  readonly size: number;
  readonly clusters: readonly number[];
  /** Offsets of its directory entries, long names included. */
  readonly entries: readonly number[];
}

const maxDepth = 16;
const maxFiles = 100_000;
const entryLength = 32;

function invalid(message: string): ImagoError {
  return new ImagoError('disk-uncleanable', `the EFI system partition cannot be read: ${message}`);
}

export async function readFatVolume(source: ByteSource): Promise<FatVolume> {
  const boot = await readBytes(source, 0, 512);
  const rootEntries = boot.readUInt16LE(17);
  const isWide = rootEntries === 0;
  const clusterSize = boot.readUInt8(13) * 512;
  const tables = boot.readUInt8(16);
  const tableOffset = boot.readUInt16LE(14) * 512;
  const tableSize = (boot.readUInt16LE(22) || boot.readUInt32LE(36)) * 512;
  const rootOffset = tableOffset + tables * tableSize;
  const dataOffset = rootOffset + Math.ceil((rootEntries * entryLength) / 512) * 512;
  if (boot.readUInt16LE(11) !== 512 || clusterSize === 0 || tables === 0 || dataOffset >= source.size)
    throw invalid('its boot sector is damaged');
  const sectors = boot.readUInt16LE(19) || boot.readUInt32LE(32);
  const entrySize = isWide ? 4 : 2;
  const end = Math.min(source.size, sectors * 512);
  const clusters = Math.min(Math.floor((end - dataOffset) / clusterSize), tableSize / entrySize - 2);
  if (clusters < 1) throw invalid('its boot sector is damaged');
  const next = readTable(await readBytes(source, tableOffset, (clusters + 2) * entrySize), isWide);
  const shape = {
    tableOffset,
    tableSize,
    tables,
    entrySize,
    clusterSize,
    clusters,
    dataOffset,
    next,
  } as const;
  const found = { files: [], deleted: [] };
  const root = isWide
    ? chainOf(shape, boot.readUInt32LE(44)).map((cluster) => placeOf(shape, cluster))
    : [{ offset: rootOffset, length: dataOffset - rootOffset }];
  await readFolder({ source, shape, found }, '', root, 0);
  return { ...shape, infoOffset: isWide ? boot.readUInt16LE(48) * 512 : undefined, ...found };
}

type Shape = Omit<FatVolume, 'files' | 'deleted' | 'infoOffset'>;

function readTable(bytes: Buffer, isWide: boolean): Uint32Array {
  const size = isWide ? 4 : 2;
  const read = (index: number) =>
    isWide ? bytes.readUInt32LE(index * 4) & 0x0fff_ffff : bytes.readUInt16LE(index * 2);
  const last = isWide ? 0x0fff_fff8 : 0xfff8;
  return Uint32Array.from({ length: bytes.length / size }, (_, index) => {
    const value = read(index);
    return value >= last ? 0xffff_ffff : value;
  });
}

function chainOf({ next, clusters }: Shape, first: number): number[] {
  const chain: number[] = [];
  for (let at = first; at !== 0xffff_ffff; at = next[at] ?? 0) {
    if (at < 2 || at >= clusters + 2 || chain.length > clusters)
      throw invalid('a chain of clusters is damaged');
    chain.push(at);
  }
  return chain;
}

export function placeOf(
  { dataOffset, clusterSize }: Pick<FatVolume, 'dataOffset' | 'clusterSize'>,
  cluster: number,
): { readonly offset: number; readonly length: number } {
  return { offset: dataOffset + (cluster - 2) * clusterSize, length: clusterSize };
}

interface Reading {
  readonly source: ByteSource;
  readonly shape: Shape;
  readonly found: { readonly files: FatFile[]; readonly deleted: number[] };
}

async function readFolder(
  reading: Reading,
  path: string,
  places: readonly { readonly offset: number; readonly length: number }[],
  depth: number,
): Promise<void> {
  const { source, shape, found } = reading;
  if (depth > maxDepth || found.files.length > maxFiles)
    throw invalid('it has too many directories or files');
  let long: { text: string; entries: number[] } = { text: '', entries: [] };
  for (const { offset, length } of places) {
    const bytes = await readBytes(source, offset, length);
    for (let at = 0; at < length; at += entryLength) {
      const entry = bytes.subarray(at, at + entryLength);
      const first = entry.readUInt8(0);
      if (first === 0) return;
      const attributes = entry.readUInt8(11);
      if (first === 0xe5) found.deleted.push(offset + at);
      else if (attributes === 0x0f) {
        long = { text: longPart(entry) + long.text, entries: [...long.entries, offset + at] };
        continue;
      } else if ((attributes & 0x08) === 0 && first !== 0x2e) {
        const name = long.text === '' ? shortName(entry) : long.text;
        const start = entry.readUInt16LE(26) + (shape.entrySize === 4 ? entry.readUInt16LE(20) * 65_536 : 0);
        const clusters = start === 0 ? [] : chainOf(shape, start);
        const child = `${path}/${name}`;
        const isFolder = (attributes & 0x10) !== 0;
        if (isFolder) {
          const inside = clusters.map((cluster) => placeOf(shape, cluster));
          await readFolder(reading, child, inside, depth + 1);
        } else {
          const entries = [...long.entries, offset + at];
          found.files.push({ path: child, size: entry.readUInt32LE(28), clusters, entries });
        }
      }
      long = { text: '', entries: [] };
    }
  }
}

function longPart(entry: Buffer): string {
  const bytes = Buffer.concat([entry.subarray(1, 11), entry.subarray(14, 26), entry.subarray(28, 32)]);
  return bytes.toString('utf16le').replace(/[\0\uffff].*$/s, '');
}

function shortName(entry: Buffer): string {
  const base = entry.toString('latin1', 0, 8).trimEnd();
  const extension = entry.toString('latin1', 8, 11).trimEnd();
  return (extension === '' ? base : `${base}.${extension}`).toLowerCase();
}
