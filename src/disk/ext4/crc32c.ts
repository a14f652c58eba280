// The checksum of ext4's metadata: CRC-32C without the usual inversion at either end, so that it can be carried on.
const table = makeTable();

function makeTable(): Uint32Array {
  const values = new Uint32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1)
      value = (value & 1) === 1 ? (value >>> 1) ^ 0x82f6_3b78 : value >>> 1;
    values[byte] = value >>> 0;
  }
  return values;
}

/** `seed` is the result of what came before, or all ones. */
export function crc32c(seed: number, bytes: Uint8Array): number {
  let crc = seed;
  for (let at = 0; at < bytes.length; at += 1) {
    crc = (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  return crc >>> 0;
}

/** Carries a checksum on over a number of four bytes. */
export function crc32cOfNumber(seed: number, value: number): number {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value >>> 0);
  return crc32c(seed, bytes);
}
