import { execFileSync } from 'node:child_process';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { noise } from '../../../test/support/test-disks.ts';
import { mergeLayers } from '../tar/merge.ts';
import { tarFile, writeTar } from '../tar/writer.ts';
import { readBootFiles } from './boot-files.ts';
import { otherDrivers, virtioDrivers } from './initrd.ts';

const version = '6.0-test';
const modules = `usr/lib/modules/${version}`;
const ext4 = noise('ext4', 40_000);
const blk = noise('virtio_blk', 70_001);
const net = noise('virtio_net', 500);
const nvme = noise('nvme', 9_000);

function xz(bytes: Uint8Array): Buffer {
  return execFileSync('xz', ['--compress', '--stdout', '--check=crc32'], { input: bytes });
}

/** A kernel that has all drivers in itself but those whose files are given. */
async function treeWith(files: Readonly<Record<string, Buffer>>) {
  const names = Object.keys(files).map((path) => /([^/]+)\.ko/.exec(path)?.[1] ?? '');
  const inside = [...virtioDrivers, ...otherDrivers].filter((driver) => !names.includes(driver));
  const all: Readonly<Record<string, Buffer | string>> = {
    [`boot/vmlinuz-${version}`]: 'the kernel',
    'etc/os-release': 'ID=test\n',
    [`${modules}/modules.dep`]: Object.keys(files)
      .map((path) => `${path}:\n`)
      .join(''),
    [`${modules}/modules.builtin`]: inside.map((driver) => `kernel/${driver}.ko\n`).join(''),
    ...Object.fromEntries(Object.entries(files).map(([path, bytes]) => [`${modules}/${path}`, bytes])),
  };
  const items = Object.entries(all).map(([path, content]) => tarFile(path, content, { mtime: 1 }));
  const pieces: Buffer[] = [];
  for await (const piece of writeTar(items)) pieces.push(Buffer.from(piece));
  const source = bufferSource(Buffer.concat(pieces));
  const limits = { maxEntries: 1000, maxBytes: 1e9, devices: 'refuse' } as const;
  return mergeLayers([{ name: 'root', source }], { ...limits, epoch: 1 });
}

const options = { epoch: 1, busybox: Buffer.from('busybox') };

describe('the modules of the kernel', () => {
  it('are in the initrd unpacked, each as it was, however it is stored', async () => {
    const tree = await treeWith({
      'kernel/ext4.ko.xz': xz(ext4),
      'kernel/virtio_blk.ko.xz': xz(blk),
      'kernel/virtio_net.ko.zst': zstdCompressSync(net),
      'kernel/nvme.ko.gz': gzipSync(nvme),
    });
    const { initrd } = await readBootFiles(tree, options);
    for (const content of [ext4, blk, net, nvme]) expect(initrd.includes(content)).toBe(true);
  });

  it.each([
    ['is truncated', xz(blk).subarray(0, -20)],
    ['is not xz', Buffer.from('something else')],
    ['is two streams', Buffer.concat([xz(blk), xz(net)])],
  ])('are refused by name when one %s', async (_, damaged) => {
    const tree = await treeWith({ 'kernel/ext4.ko.xz': xz(ext4), 'kernel/virtio_blk.ko.xz': damaged });
    await expect(readBootFiles(tree, options)).rejects.toThrow('virtio_blk.ko.xz');
  });
});
