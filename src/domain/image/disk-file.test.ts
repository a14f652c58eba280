import { expect, test } from 'vitest';
import { diskFileFormat, diskSector, requirePartitionTable } from './disk-file.ts';

function ends(text: string, size = 4096) {
  const bytes = Uint8Array.from(text.padEnd(diskSector, '\n'), (letter) => letter.charCodeAt(0));
  return { size, start: bytes, end: bytes };
}

test('a text is a raw disk by its format, and no disk by its content', () => {
  const file = ends('root:x:0:0:root:/root:/bin/bash');
  expect(diskFileFormat(file)).toBe('raw');
  expect(() => requirePartitionTable(file.start)).toThrow(/no partition table/);
});

test('a file shorter than a sector is no disk, whatever it holds', () => {
  for (const start of [new Uint8Array(0), Uint8Array.from([0x51, 0x46, 0x49, 0xfb])])
    expect(() => diskFileFormat({ size: start.length, start, end: start })).toThrow(/too short/);
});

test('the mark at the end of the first sector is enough', () => {
  const start = new Uint8Array(diskSector);
  start.set([0x55, 0xaa], 510);
  expect(() => requirePartitionTable(start)).not.toThrow();
  expect(() => requirePartitionTable(start.subarray(0, 511))).toThrow(/no partition table/);
});
