// What no file system can be. Real ones are read in test/integration/inventory-ext4.test.ts.
import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { openExt4 } from './reader.ts';

/** A superblock without checksums that would do for 1 MiB, but for what is changed. */
function superblock(change: (bytes: Buffer) => void): Buffer {
  const disk = Buffer.alloc(1024 * 1024);
  const bytes = disk.subarray(1024, 2048);
  bytes.writeUInt32LE(64, 0);
  bytes.writeUInt32LE(1024, 4);
  bytes.writeUInt32LE(1, 0x14);
  bytes.writeUInt32LE(8192, 0x20);
  bytes.writeUInt32LE(64, 0x28);
  bytes.writeUInt16LE(0xef53, 0x38);
  bytes.writeUInt32LE(1, 0x4c);
  bytes.writeUInt16LE(256, 0x58);
  bytes.writeUInt32LE(0x42, 0x60);
  disk.writeUInt32LE(10, 2048 + 8);
  change(bytes);
  return disk;
}

describe('a superblock', () => {
  it('opens when nothing speaks against it, and an unused root is refused', async () => {
    const reader = await openExt4(bufferSource(superblock(() => undefined)));
    await expect(reader.find('/etc')).rejects.toMatchObject({ code: 'ext4-invalid' });
  });

  const changes: Record<string, (bytes: Buffer) => void> = {
    'without its mark': (bytes) => bytes.writeUInt16LE(0, 0x38),
    'with an unknown feature': (bytes) => bytes.writeUInt32LE(0x8000_0042, 0x60),
    'with encrypted files': (bytes) => bytes.writeUInt32LE(0x1_0042, 0x60),
    'larger than its disk': (bytes) => bytes.writeUInt32LE(1025, 4),
    'with blocks of 2 GiB': (bytes) => bytes.writeUInt32LE(21, 0x18),
    'with groups of no blocks': (bytes) => bytes.writeUInt32LE(0, 0x20),
    'with no inodes in a group': (bytes) => bytes.writeUInt32LE(0, 0x28),
    'with more inodes than fit': (bytes) => bytes.writeUInt32LE(65, 0),
    'with inodes of 300 bytes': (bytes) => bytes.writeUInt16LE(300, 0x58),
    'with more free than there is': (bytes) => bytes.writeUInt32LE(2000, 0xc),
    'with damaged checksums': (bytes) => {
      bytes.writeUInt32LE(0x400, 0x64);
      bytes.writeUInt8(1, 0x175);
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    it(`${name} is refused`, async () => {
      await expect(openExt4(bufferSource(superblock(change)))).rejects.toMatchObject({
        code: 'ext4-invalid',
      });
    });
  }
});
