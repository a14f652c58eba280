// Go's binary forms of times and numbers, as containerd writes them.

/** `time.Time.MarshalBinary` of a whole second in UTC. */
export function goTime(epoch: number): Buffer {
  const bytes = Buffer.alloc(15);
  bytes.writeUInt8(1, 0);
  bytes.writeBigInt64BE(BigInt(epoch) + 62_135_596_800n, 1);
  bytes.writeInt16BE(-1, 13);
  return bytes;
}

/** `binary.PutUvarint`. */
export function uvarint(value: number): Buffer {
  const bytes: number[] = [];
  let left = BigInt(value);
  for (; left >= 0x80n; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

/** `binary.PutVarint` of what is not negative. */
export function varint(value: number): Buffer {
  return uvarint(value * 2);
}
