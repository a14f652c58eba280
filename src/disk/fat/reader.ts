// Reads a file from a FAT32 file system, strictly and within bounds: enough to find boot files on the EFI
// system partition of a disk.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';

interface Fat {
  readonly source: ByteSource;
  readonly clusterSize: number;
  readonly tableOffset: number;
  readonly dataOffset: number;
  readonly clusters: number;
  readonly rootCluster: number;
}

interface FatEntry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly cluster: number;
  readonly size: number;
}

const maxFolder = 1024 * 1024;

function invalid(message: string): ImagoError {
  return new ImagoError('boot-files-invalid', `the EFI system partition cannot be read: ${message}`);
}

/** The content of a file by its 8.3 path; undefined when there is none. Refuses more than `maxBytes`. */
export async function readFatFile(
  source: ByteSource,
  path: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const fat = await openFat(source);
  let at: FatEntry | undefined = { name: '', isFolder: true, cluster: fat.rootCluster, size: 0 };
  for (const name of path.toUpperCase().split('/')) {
    if (at === undefined || !at.isFolder) return undefined;
    const entries = parseFolder(await readChain(fat, at.cluster, maxFolder));
    at = entries.find((entry) => entry.name === name);
  }
  if (at === undefined || at.isFolder) return undefined;
  if (at.size > maxBytes) throw invalid(`${path} has ${at.size} bytes, more than the ${maxBytes} expected`);
  if (at.size === 0) return Buffer.alloc(0);
  const content = await readChain(fat, at.cluster, at.size);
  if (content.length < at.size) throw invalid(`${path} is truncated`);
  return content.subarray(0, at.size);
}

async function openFat(source: ByteSource): Promise<Fat> {
  if (source.size < 1024) throw invalid('it is too small');
  const boot = await readBytes(source, 0, 512);
  if (boot.readUInt16LE(510) !== 0xaa55 || boot.toString('latin1', 82, 87) !== 'FAT32')
    throw invalid('it is not FAT32');
  const clusterSectors = boot.readUInt8(13);
  const fats = boot.readUInt8(16);
  if (boot.readUInt16LE(11) !== 512 || clusterSectors === 0 || fats === 0)
    throw invalid('its boot sector is damaged');
  const tableOffset = boot.readUInt16LE(14) * 512;
  const tableSize = boot.readUInt32LE(36) * 512;
  const dataOffset = tableOffset + fats * tableSize;
  const clusterSize = clusterSectors * 512;
  const clusters = Math.min(Math.floor((source.size - dataOffset) / clusterSize), tableSize / 4 - 2);
  if (clusters < 1) throw invalid('its boot sector is damaged');
  return { source, clusterSize, tableOffset, dataOffset, clusters, rootCluster: boot.readUInt32LE(44) };
}

/** Reads a chain of clusters up to `maxBytes`, rounded up to a whole cluster; runs of clusters in one go. */
async function readChain(fat: Fat, first: number, maxBytes: number): Promise<Buffer> {
  const limit = Math.ceil(maxBytes / fat.clusterSize);
  const table = await readBytes(fat.source, fat.tableOffset, (fat.clusters + 2) * 4);
  const parts: Buffer[] = [];
  let count = 0;
  let cluster = first;
  while (count < limit && cluster < 0x0fff_fff8) {
    let length = 0;
    let next = cluster;
    do {
      if (next < 2 || next >= fat.clusters + 2) throw invalid('a file leads outside of it');
      length += 1;
      next = table.readUInt32LE(next * 4) & 0x0fff_ffff;
    } while (next === cluster + length && count + length < limit);
    parts.push(
      await readBytes(fat.source, fat.dataOffset + (cluster - 2) * fat.clusterSize, length * fat.clusterSize),
    );
    count += length;
    cluster = next;
  }
  return Buffer.concat(parts);
}

function parseFolder(bytes: Buffer): FatEntry[] {
  const entries: FatEntry[] = [];
  for (let at = 0; at + 32 <= bytes.length; at += 32) {
    const first = bytes.readUInt8(at);
    if (first === 0) break;
    const attributes = bytes.readUInt8(at + 11);
    if (first === 0xe5 || (attributes & 0x08) !== 0) continue;
    const base = bytes.toString('latin1', at, at + 8).trimEnd();
    const extension = bytes.toString('latin1', at + 8, at + 11).trimEnd();
    entries.push({
      name: extension === '' ? base : `${base}.${extension}`,
      isFolder: (attributes & 0x10) !== 0,
      cluster: bytes.readUInt16LE(at + 20) * 65_536 + bytes.readUInt16LE(at + 26),
      size: bytes.readUInt32LE(at + 28),
    });
  }
  return entries;
}
