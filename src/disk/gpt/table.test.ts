import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readGpt } from './reader.ts';
import { encodeGpt, type Gpt, type GptPartition, legacyBiosBootable, partitionTypes } from './table.ts';

const size = 4 * 1024 * 1024;
const diskGuid = '0f0e0d0c-0b0a-0908-0706-050403020100';

function partition(change: Partial<GptPartition> = {}): GptPartition {
  return {
    number: 1,
    type: partitionTypes.efiSystem,
    guid: '01234567-89ab-cdef-0123-456789abcdef',
    firstSector: 2048,
    lastSector: 4095,
    attributes: legacyBiosBootable,
    name: 'esp',
    ...change,
  };
}

const root = partition({
  number: 2,
  type: partitionTypes.linuxRootX64,
  firstSector: 4096,
  lastSector: 6143,
  name: 'root',
  attributes: 0n,
});

function diskWith(partitions: readonly GptPartition[] = [partition(), root]): Buffer {
  const disk = Buffer.alloc(size);
  const { primary, backup, backupOffset } = encodeGpt(size, diskGuid, partitions);
  primary.copy(disk, 0);
  backup.copy(disk, backupOffset);
  return disk;
}

describe('partition table', () => {
  it('reads back what was written', async () => {
    const gpt = await readGpt(bufferSource(diskWith()));
    expect(gpt).toEqual({
      diskGuid,
      firstUsable: 34,
      lastUsable: size / 512 - 34,
      partitions: [partition(), root],
    });
  });

  it('carries boot code only where a BIOS looks for it', () => {
    const code = Buffer.alloc(440, 0x90);
    const { primary } = encodeGpt(size, diskGuid, [partition()], code);
    expect(primary.subarray(0, 440).equals(code)).toBe(true);
    expect(primary.readUInt8(450)).toBe(0xee);
    expect(() => encodeGpt(size, diskGuid, [], Buffer.alloc(441))).toThrow(/440/);
  });

  it.each([
    ['overlap', [partition(), partition({ number: 2, firstSector: 4095, lastSector: 5000 })]],
    ['share a number', [partition(), partition({ firstSector: 5000, lastSector: 5001 })]],
    ['lie behind the usable sectors', [partition({ lastSector: size / 512 - 33 })]],
    ['lie before the usable sectors', [partition({ firstSector: 33 })]],
    ['end before they begin', [partition({ lastSector: 2047 })]],
    ['have a name that is too long', [partition({ name: 'x'.repeat(37) })]],
  ])('refuses to write partitions that %s', (_name, partitions) => {
    expect(() => encodeGpt(size, diskGuid, partitions)).toThrow(ImagoError);
  });

  it('names the copy that is damaged', async () => {
    const first = diskWith();
    first.writeUInt8(0, 512 + 60);
    await expect(readGpt(bufferSource(first))).rejects.toThrow(/table at sector 1 is damaged/);
    const last = diskWith();
    last.writeUInt8(7, last.length - 512 - 300);
    await expect(readGpt(bufferSource(last))).rejects.toThrow(
      /entries of the table at sector 8191 are damaged/,
    );
  });

  it('says when the disk grew and the backup stayed', async () => {
    const grown = Buffer.concat([diskWith(), Buffer.alloc(1024 * 1024)]);
    await expect(readGpt(bufferSource(grown))).rejects.toThrow(/not at the end/);
  });
});

it('any damage is either refused or leaves a consistent table', async () => {
  const original = diskWith();
  const place = fc.oneof(
    fc.nat(34 * 512 - 1),
    fc.nat(33 * 512 - 1).map((at) => original.length - 1 - at),
  );
  const mutation = fc.record({
    bytes: fc.array(fc.tuple(place, fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 6 }),
    repair: fc.boolean(),
    cut: fc.option(fc.nat(original.length / 512), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(mutation, async ({ bytes, repair, cut }) => {
      const disk = Buffer.from(original);
      for (const [at, value] of bytes) disk.writeUInt8(value, at);
      if (repair) repairCopies(disk);
      await expectConsistent(cut === undefined ? disk : disk.subarray(0, cut * 512));
    }),
    { numRuns: 400 },
  );
});

/** Makes the damage pass the checksums, so that the other checks are reached. */
function repairCopies(disk: Buffer): void {
  const entries = disk.subarray(1024, 1024 + 128 * 128);
  entries.copy(disk, disk.length - 33 * 512);
  for (const at of [512, disk.length - 512]) {
    disk.writeUInt32LE(crc32(entries), at + 88);
    disk.writeUInt32LE(0, at + 16);
    disk.writeUInt32LE(crc32(disk.subarray(at, at + 92)), at + 16);
  }
}

async function expectConsistent(disk: Buffer): Promise<void> {
  let gpt: Gpt;
  try {
    gpt = await readGpt(bufferSource(disk));
  } catch (error) {
    expect(error).toBeInstanceOf(ImagoError);
    return;
  }
  let end = gpt.firstUsable - 1;
  for (const { firstSector, lastSector } of gpt.partitions.toSorted(
    (a, b) => a.firstSector - b.firstSector,
  )) {
    expect(firstSector).toBeGreaterThan(end);
    end = lastSector;
  }
  expect(end).toBeLessThanOrEqual(gpt.lastUsable);
}
