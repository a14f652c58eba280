// Cabinets for tests, in the shape of Microsoft's updates: one folder, no compression. `gcab --list` takes them.

/** Members with one byte each. */
export function cabinet(names: readonly string[]): Buffer {
  const entries = names.map((name, index) => {
    const entry = Buffer.alloc(16 + Buffer.byteLength(name) + 1);
    entry.writeUInt32LE(1, 0);
    entry.writeUInt32LE(index, 4);
    entry.writeUInt16LE(0x5a21, 10);
    entry.writeUInt16LE(0x20, 14);
    entry.write(name, 16);
    return entry;
  });
  const files = Buffer.concat(entries);
  const head = Buffer.alloc(36 + 8);
  const data = Buffer.alloc(8 + names.length, 0x78);
  const dataAt = head.length + files.length;
  head.write('MSCF', 0, 'latin1');
  head.writeUInt32LE(dataAt + data.length, 8);
  head.writeUInt32LE(head.length, 16);
  head.writeUInt16LE(0x0103, 24);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(names.length, 28);
  head.writeUInt32LE(dataAt, 36);
  head.writeUInt16LE(1, 40);
  data.writeUInt32LE(0, 0);
  data.writeUInt16LE(names.length, 4);
  data.writeUInt16LE(names.length, 6);
  return Buffer.concat([head, files, data]);
}
