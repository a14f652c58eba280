import { mkdtemp, open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readBytes } from '../bytes/byte-source.ts';
import type { Extent } from '../bytes/extent.ts';
import { encodeVhdFooter } from './footer.ts';
import { openVhd, type VhdDisk } from './reader.ts';
import { appendVhdFooter, writeDynamicVhd } from './writer.ts';

const mebibyte = 1024 * 1024;
const identity = { timestamp: 1_750_000_000, uuid: '6a1d9d2e-9f6b-4a53-8f3e-0d9a7c1b2e3f' };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-vhd-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function sampleDisk(): Buffer {
  const size = 7 * mebibyte;
  const disk = Buffer.alloc(size);
  disk.fill('first', 0, 100_000);
  disk.fill('second', 5 * mebibyte + 512, 5 * mebibyte + 4096);
  disk.write('end', size - 3);
  return disk;
}

async function dynamicFile(
  disk: Buffer,
  extents: Extent[] = [{ offset: 0, length: disk.length }],
): Promise<Buffer> {
  const path = join(folder, 'dynamic.vhd');
  const file = await open(path, 'w');
  try {
    await writeDynamicVhd(file, { disk: bufferSource(disk), extents, identity });
  } finally {
    await file.close();
  }
  return readFile(path);
}

async function wholeDisk(vhd: VhdDisk): Promise<Buffer> {
  return readBytes(vhd.disk, 0, vhd.disk.size);
}

async function list(vhd: VhdDisk): Promise<Extent[]> {
  const all: Extent[] = [];
  for await (const extent of vhd.extents()) all.push(extent);
  return all;
}

describe('fixed VHD', () => {
  it('is the raw disk with a footer behind it, and a second append changes nothing', async () => {
    const path = join(folder, 'fixed.vhd');
    await writeFile(path, sampleDisk());
    await appendVhdFooter(path, identity);
    const once = await readFile(path);
    await appendVhdFooter(path, identity);
    expect((await readFile(path)).equals(once)).toBe(true);
    expect(once.length).toBe(7 * mebibyte + 512);
    const vhd = await openVhd(bufferSource(once));
    expect(vhd.footer).toEqual({ kind: 'fixed', size: 7 * mebibyte, headerOffset: undefined, ...identity });
    expect((await wholeDisk(vhd)).equals(sampleDisk())).toBe(true);
  });

  it('refuses a disk that is not whole MiB and a file with another footer', async () => {
    const path = join(folder, 'odd.vhd');
    await writeFile(path, Buffer.alloc(mebibyte + 4096));
    await expect(appendVhdFooter(path, identity)).rejects.toMatchObject({ code: 'vhd-invalid' });
    await truncate(path, mebibyte);
    await appendVhdFooter(path, identity);
    const other = { ...identity, timestamp: identity.timestamp + 1 };
    await expect(appendVhdFooter(path, other)).rejects.toMatchObject({ code: 'vhd-invalid' });
  });

  it('refuses a file that was truncated or grew', async () => {
    const footer = encodeVhdFooter('fixed', mebibyte, identity);
    for (const size of [mebibyte - 512, mebibyte + 512]) {
      const file = Buffer.concat([Buffer.alloc(size), footer]);
      await expect(openVhd(bufferSource(file))).rejects.toMatchObject({ code: 'vhd-invalid' });
    }
  });
});

describe('dynamic VHD', () => {
  it('holds only blocks with data and reads back as the disk', async () => {
    const file = await dynamicFile(sampleDisk());
    const vhd = await openVhd(bufferSource(file));
    expect((await wholeDisk(vhd)).equals(sampleDisk())).toBe(true);
    expect(file.length).toBe(512 + 1024 + 512 + 3 * (512 + 2 * mebibyte) + 512);
    expect(await list(vhd)).toEqual([
      { offset: 0, length: 2 * mebibyte },
      { offset: 4 * mebibyte, length: 3 * mebibyte },
    ]);
  });

  it('takes sectors that the bitmap calls unwritten as zero', async () => {
    const file = await dynamicFile(sampleDisk());
    const firstBitmap = 512 + 1024 + 512;
    file.writeUInt8(0x7f, firstBitmap);
    const vhd = await openVhd(bufferSource(file));
    const expected = sampleDisk().fill(0, 0, 512);
    expect((await wholeDisk(vhd)).equals(expected)).toBe(true);
    expect((await list(vhd))[0]).toEqual({ offset: 512, length: 2 * mebibyte - 512 });
  });

  it('does not read what the extents leave out', async () => {
    const vhd = await openVhd(
      bufferSource(await dynamicFile(sampleDisk(), [{ offset: 5 * mebibyte, length: 4096 }])),
    );
    const disk = await wholeDisk(vhd);
    expect(disk.subarray(0, 4 * mebibyte).equals(Buffer.alloc(4 * mebibyte))).toBe(true);
    expect(
      disk.subarray(4 * mebibyte, 6 * mebibyte).equals(sampleDisk().subarray(4 * mebibyte, 6 * mebibyte)),
    ).toBe(true);
  });

  it.each([
    ['a table entry outside of the file', (file: Buffer) => file.writeUInt32BE(0x00ff_ffff, 1536)],
    ['two blocks on one place', (file: Buffer) => file.writeUInt32BE(file.readUInt32BE(1536), 1540)],
    ['a block on top of the table', (file: Buffer) => file.writeUInt32BE(1, 1536)],
    ['a damaged copy of the footer', (file: Buffer) => file.writeUInt8(1, 100)],
    ['a damaged header', (file: Buffer) => file.writeUInt32BE(5, 512 + 28)],
  ])('refuses %s', async (_name, damage) => {
    const file = await dynamicFile(sampleDisk());
    damage(file);
    await expect(openVhd(bufferSource(file))).rejects.toMatchObject({ code: 'vhd-invalid' });
  });
});

it('any damage is either refused or leaves a consistent disk', async () => {
  const disk = sampleDisk();
  const path = join(folder, 'fuzz.vhd');
  await writeFile(path, disk);
  await appendVhdFooter(path, identity);
  const originals = [await readFile(path), await dynamicFile(disk)];
  const interesting = originals.map((file) => [
    ...Array.from({ length: 2560 }, (_, at) => at),
    ...Array.from({ length: 512 }, (_, at) => file.length - 512 + at),
  ]);
  const mutation = fc.record({
    which: fc.integer({ min: 0, max: 1 }),
    bytes: fc.array(fc.tuple(fc.nat(3071), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }),
    fixChecksums: fc.boolean(),
    cut: fc.option(fc.nat(8 * mebibyte), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(mutation, async ({ which, bytes, fixChecksums, cut }) => {
      const file = Buffer.from(originals[which] ?? '');
      for (const [at, value] of bytes) file.writeUInt8(value, interesting[which]?.[at] ?? 0);
      if (fixChecksums) repairChecksums(file);
      await expectConsistent(cut === undefined ? file : file.subarray(0, cut));
    }),
    { numRuns: 400 },
  );
});

function repairChecksums(file: Buffer): void {
  const footer = file.subarray(file.length - 512);
  writeSum(footer, 64);
  footer.copy(file, 0);
  writeSum(file.subarray(512, 1536), 36);
}

function writeSum(part: Buffer, at: number): void {
  part.writeUInt32BE(0, at);
  part.writeUInt32BE(~part.reduce((sum, byte) => sum + byte, 0) >>> 0, at);
}

async function expectConsistent(file: Buffer): Promise<void> {
  let vhd: VhdDisk;
  try {
    vhd = await openVhd(bufferSource(file));
  } catch (error) {
    expect(error).toBeInstanceOf(ImagoError);
    return;
  }
  let end = 0;
  for (const extent of await list(vhd)) {
    expect(extent.offset).toBeGreaterThanOrEqual(end);
    expect(extent.length).toBeGreaterThan(0);
    end = extent.offset + extent.length;
  }
  expect(end).toBeLessThanOrEqual(vhd.disk.size);
  const length = Math.min(8192, vhd.disk.size);
  await readBytes(vhd.disk, 0, length);
  await readBytes(vhd.disk, vhd.disk.size - length, length);
}
