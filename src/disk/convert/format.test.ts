import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { encodeVhdFooter } from '../vhd/footer.ts';
import { detectDiskFormat } from './convert.ts';

const identity = { timestamp: 1_750_000_000, uuid: '6a1d9d2e-9f6b-4a53-8f3e-0d9a7c1b2e3f' };

function qcow2(change: (header: Buffer) => void = () => undefined): Buffer {
  const header = Buffer.alloc(4096);
  header.write('QFI\xfb', 0, 'latin1');
  header.writeUInt32BE(3, 4);
  change(header);
  return header;
}

it('formats are recognized by content', async () => {
  const footer = encodeVhdFooter('fixed', 1024 * 1024, identity);
  expect(await detectDiskFormat(bufferSource(qcow2()))).toBe('qcow2');
  expect(await detectDiskFormat(bufferSource(Buffer.concat([Buffer.alloc(1024 * 1024), footer])))).toBe(
    'vhd-fixed',
  );
  expect(await detectDiskFormat(bufferSource(Buffer.concat([footer, Buffer.alloc(4096)])))).toBe(
    'vhd-dynamic',
  );
  expect(await detectDiskFormat(bufferSource(Buffer.alloc(4096)))).toBe('raw');
  await expect(detectDiskFormat(bufferSource(Buffer.alloc(10)))).rejects.toMatchObject({
    code: 'input-invalid',
  });
});

describe('a qcow2 file that would lead to other files of this machine is refused', () => {
  it.each([
    ['a backing file', (header: Buffer) => header.writeBigUInt64BE(512n, 8)],
    ['an external data file', (header: Buffer) => header.writeBigUInt64BE(4n, 72)],
    ['an unknown version', (header: Buffer) => header.writeUInt32BE(9, 4)],
  ])('%s', async (_what, change) => {
    await expect(detectDiskFormat(bufferSource(qcow2(change)))).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  it('and others are not', async () => {
    await expect(detectDiskFormat(bufferSource(qcow2()))).resolves.toBe('qcow2');
  });
});

describe('a file that describes a disk of more than 2 TiB is refused', () => {
  const tooMuch = BigInt(2 * 1024 ** 4 + 512);
  it.each([
    ['qcow2', qcow2((header) => header.writeBigUInt64BE(tooMuch, 24))],
    [
      'dynamic VHD',
      Buffer.concat([encodeVhdFooter('dynamic', Number(tooMuch), identity), Buffer.alloc(4096)]),
    ],
  ])('%s', async (_, file) => {
    await expect(detectDiskFormat(bufferSource(file))).rejects.toMatchObject({ code: 'input-invalid' });
  });
});
