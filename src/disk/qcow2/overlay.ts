// An empty qcow2 disk over a raw image, written directly: a machine's disk is then made in a millisecond, where
// starting a program for it takes many on a busy computer. The format is QEMU's docs/interop/qcow2.txt, version 3.
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { syncPath } from '../../host/files/durable-files.ts';

export interface Overlay {
  /** The raw image under it, by its absolute path. */
  readonly backing: string;
  /** How large the disk is for the machine; what the image does not cover reads as zero. */
  readonly bytes: number;
}

const clusterBits = 16;
const cluster = 1 << clusterBits;
const headerLength = 104;
const backingFormat = 0xe2792aca;
/** A table of the second level is one cluster of 8-byte entries, each for a cluster of the disk. */
const bytesOfTable = (cluster / 8) * cluster;
const longestName = 1023;

/** Clusters of the file: header, table of counts, counts, table of the first level. */
const countTableAt = cluster;
const countsAt = 2 * cluster;
const firstLevelAt = 3 * cluster;

/** Replaces what is there, and returns when it would survive a power cut. Throws `input-invalid` for a path that the format cannot hold. */
export async function writeOverlay(path: string, overlay: Overlay): Promise<void> {
  const name = Buffer.from(overlay.backing);
  if (!overlay.backing.startsWith('/') || name.length > longestName) {
    throw new ImagoError(
      'input-invalid',
      `A disk cannot be backed by ${overlay.backing}: its path is too long.`,
    );
  }
  const tables = Math.max(1, Math.ceil(overlay.bytes / bytesOfTable));
  const firstLevelClusters = Math.ceil((tables * 8) / cluster);
  const clusters = firstLevelAt / cluster + firstLevelClusters;
  const countTable = Buffer.alloc(8);
  countTable.writeBigUInt64BE(BigInt(countsAt));
  const counts = Buffer.alloc(2 * clusters);
  for (let index = 0; index < clusters; index++) counts.writeUInt16BE(1, 2 * index);

  const file = await open(path, 'w', 0o600);
  try {
    await file.write(header(overlay.bytes, tables, name), 0, undefined, 0);
    await file.write(countTable, 0, undefined, countTableAt);
    await file.write(counts, 0, undefined, countsAt);
    await file.truncate(clusters * cluster);
    await file.sync();
  } finally {
    await file.close();
  }
  await syncPath(dirname(path));
}

function header(bytes: number, tables: number, name: Buffer): Buffer {
  const format = Buffer.from('raw');
  const extensions = Buffer.alloc(24);
  extensions.writeUInt32BE(backingFormat, 0);
  extensions.writeUInt32BE(format.length, 4);
  format.copy(extensions, 8);
  const fields = Buffer.alloc(headerLength);
  fields.write('QFI\xfb', 0, 'latin1');
  fields.writeUInt32BE(3, 4);
  fields.writeBigUInt64BE(BigInt(headerLength + extensions.length), 8);
  fields.writeUInt32BE(name.length, 16);
  fields.writeUInt32BE(clusterBits, 20);
  fields.writeBigUInt64BE(BigInt(bytes), 24);
  fields.writeUInt32BE(tables, 36);
  fields.writeBigUInt64BE(BigInt(firstLevelAt), 40);
  fields.writeBigUInt64BE(BigInt(countTableAt), 48);
  fields.writeUInt32BE(1, 56);
  fields.writeUInt32BE(4, 96);
  fields.writeUInt32BE(headerLength, 100);
  return Buffer.concat([fields, extensions, name]);
}
