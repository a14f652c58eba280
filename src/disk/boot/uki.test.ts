import { describe, expect, it } from 'vitest';
import { makeUki, readUkiSections } from './uki.ts';

/** A PE program with one section and room for `room` more. */
function stub(room: number): Buffer {
  const sectionTable = 0x80 + 24 + 240;
  const headers = Math.ceil((sectionTable + 40 * (1 + room)) / 512) * 512;
  const bytes = Buffer.alloc(Math.max(1024, headers + 512));
  bytes.write('MZ', 0);
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write('PE\0\0', 0x80, 'latin1');
  bytes.writeUInt16LE(1, 0x80 + 6);
  bytes.writeUInt16LE(240, 0x80 + 20);
  const optional = 0x80 + 24;
  bytes.writeUInt16LE(0x20b, optional);
  bytes.writeUInt32LE(4096, optional + 32);
  bytes.writeUInt32LE(512, optional + 36);
  bytes.writeUInt32LE(0x3000, optional + 56);
  bytes.writeUInt32LE(room === 0 ? sectionTable + 40 : headers, optional + 60);
  bytes.writeUInt32LE(77, optional + 64);
  bytes.write('.text', sectionTable);
  bytes.writeUInt32LE(100, sectionTable + 8);
  bytes.writeUInt32LE(0x1000, sectionTable + 12);
  bytes.writeUInt32LE(512, sectionTable + 16);
  bytes.writeUInt32LE(headers, sectionTable + 20);
  return bytes;
}

const input = {
  stub: stub(8),
  kernel: Buffer.alloc(5000, 'k'),
  initrd: Buffer.alloc(700, 'i'),
  cmdline: 'root=PARTUUID=x quiet',
  osRelease: Buffer.from('ID=test\n'),
  kernelVersion: '6.12.1',
};

describe('unified kernel image', () => {
  it('holds its parts as sections that neither overlap nor leave their alignment', () => {
    const uki = makeUki(input);
    const sections = readUkiSections(uki);
    expect([...sections.keys()]).toEqual(['.text', '.osrel', '.cmdline', '.uname', '.initrd', '.linux']);
    expect(sections.get('.linux')?.equals(input.kernel)).toBe(true);
    expect(sections.get('.initrd')?.equals(input.initrd)).toBe(true);
    expect(sections.get('.cmdline')?.toString()).toBe(input.cmdline);
    expect(sections.get('.uname')?.toString()).toBe('6.12.1');
    const table = 0x80 + 24 + 240;
    let end = 0x1000 + 100;
    for (let index = 1; index < 6; index++) {
      const address = uki.readUInt32LE(table + index * 40 + 12);
      expect(address % 4096).toBe(0);
      expect(address).toBeGreaterThanOrEqual(end);
      expect(uki.readUInt32LE(table + index * 40 + 20) % 512).toBe(0);
      end = address + uki.readUInt32LE(table + index * 40 + 8);
    }
    expect(uki.readUInt32LE(0x80 + 24 + 56)).toBe(Math.ceil(end / 4096) * 4096);
    expect(uki.readUInt32LE(0x80 + 24 + 64)).toBe(0);
  });

  it('is the same for the same input, and leaves the stub as it was', () => {
    const before = Buffer.from(input.stub);
    expect(makeUki(input).equals(makeUki(input))).toBe(true);
    expect(input.stub.equals(before)).toBe(true);
  });

  it.each([
    ['is not a program', Buffer.alloc(2048)],
    ['has no room for sections', stub(0)],
    ['was truncated', stub(8).subarray(0, 200)],
  ])('refuses a stub that %s', (_what, bad) => {
    expect(() => makeUki({ ...input, stub: bad })).toThrow(/EFI stub cannot be used/);
  });
});
