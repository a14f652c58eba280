// The smallest thing that counts as a disk: a partition table's mark and some bytes. Nothing can be read on it.

export function tinyDisk(seed = 1): Buffer {
  const disk = Buffer.alloc(1024 * 1024);
  disk.writeUInt16LE(0xaa55, 510);
  disk.fill(seed, 4096, 300_000);
  return disk;
}

export async function* inPieces(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
