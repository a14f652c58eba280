// A small qcow2 file that reads as a large disk full of data: all entries of its tables lead to one cluster.
import { writeFile } from 'node:fs/promises';

const cluster = 64 * 1024;
const bytesOfTable = (cluster / 8) * cluster;

/** `bytes` is the size of the disk, in whole 512 MiB. */
export async function writeQcow2Bomb(path: string, bytes: number): Promise<void> {
  const tables = Math.ceil(bytes / bytesOfTable);
  const firstLevelAt = 3 * cluster;
  const secondLevelAt = firstLevelAt + Math.ceil((tables * 8) / cluster) * cluster;
  const dataAt = secondLevelAt + cluster;
  const file = Buffer.alloc(dataAt + cluster);
  file.write('QFI\xfb', 0, 'latin1');
  file.writeUInt32BE(3, 4);
  file.writeUInt32BE(16, 20);
  file.writeBigUInt64BE(BigInt(bytes), 24);
  file.writeUInt32BE(tables, 36);
  file.writeBigUInt64BE(BigInt(firstLevelAt), 40);
  file.writeBigUInt64BE(BigInt(cluster), 48);
  file.writeUInt32BE(1, 56);
  file.writeUInt32BE(4, 96);
  file.writeUInt32BE(104, 100);
  file.writeBigUInt64BE(BigInt(2 * cluster), cluster);
  const used = 1n << 63n;
  for (let at = 0; at < tables; at += 1) {
    file.writeBigUInt64BE(BigInt(secondLevelAt) | used, firstLevelAt + 8 * at);
  }
  for (let at = 0; at < cluster / 8; at += 1) {
    file.writeBigUInt64BE(BigInt(dataAt) | used, secondLevelAt + 8 * at);
  }
  file.fill('data', dataAt);
  file.writeUInt16BE(0x55aa, dataAt + 510);
  await writeFile(path, file);
}
