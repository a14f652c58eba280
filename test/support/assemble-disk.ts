// Assembles a small disk from made-up boot files, for tests that look at it without starting it. Run as
// a program it does so in a process of its own: node assemble-disk.ts FOLDER [SLOW]
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  type AssembledDisk,
  assembleDisk,
  type DiskInput,
  rootContent,
} from '../../src/disk/assemble/assemble-disk.ts';
import type { BootFiles } from '../../src/disk/boot/boot-files.ts';
import { rootFiles } from '../../src/disk/boot/root-files.ts';
import { mergeLayers } from '../../src/disk/tar/merge.ts';
import type { MergedTree } from '../../src/disk/tar/merged-tree.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { bufferSource } from './buffer-source.ts';

const epoch = 1_750_000_000;

export const fakeBoot: BootFiles = {
  kernelVersion: '6.12.0-test',
  kernel: Buffer.alloc(3_000_000, 'kernel '),
  initrd: Buffer.alloc(1_000_000, 'initrd '),
  osRelease: Buffer.from('ID=test\nVERSION_ID=1\n'),
};

export const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');

const sampleFiles: readonly TarItem[] = [
  { entry: tarEntry('', { type: 'directory', mode: 0o755 }) },
  { entry: tarEntry('var/tmp', { type: 'directory', mode: 0o1777 }) },
  tarFile('etc/shadow', 'secret', { mode: 0o640, gid: 42 }),
  tarFile('usr/bin/ping', 'ping', { mode: 0o755, xattrs: new Map([['security.capability', capability]]) }),
  tarFile('usr/bin/su', 'su', { mode: 0o4755 }),
  { entry: tarEntry('usr/bin/su2', { type: 'hardlink', link: 'usr/bin/su' }) },
  tarFile('home/user/notes-ä-漢', 'text', { uid: 100_000, gid: 100_001, mtime: 1_600_000_000 }),
  tarFile(`deep/${'d'.repeat(200)}/${'e'.repeat(200)}`, 'deep'),
  { entry: tarEntry('usr/lib/short', { type: 'symlink', link: '/etc/shadow' }) },
  { entry: tarEntry('usr/lib/long', { type: 'symlink', link: `/${'l'.repeat(120)}` }) },
  { entry: tarEntry('dev/null', { type: 'character', mode: 0o666, device: { major: 1, minor: 3 } }) },
  tarFile('usr/share/big', Buffer.alloc(9_000_000, 'big ')),
];

export async function sampleTree(): Promise<MergedTree> {
  const layers = await Promise.all(
    [sampleFiles, rootFiles(epoch)].map(async (items, index) => ({
      name: `layer ${index}`,
      source: bufferSource(await buffer(writeTar(items))),
    })),
  );
  return mergeLayers(layers, { epoch, maxEntries: 1000, maxBytes: 100_000_000, devices: 'allow' });
}

export async function assembleSample(
  folder: string,
  change: Partial<DiskInput> = {},
): Promise<AssembledDisk> {
  return assembleDisk({
    root: rootContent(await sampleTree()),
    boot: fakeBoot,
    cmdline: 'console=ttyS0 quiet',
    epoch,
    seed: 'sample',
    size: 256 * 1024 * 1024,
    path: join(folder, 'disk.raw'),
    workFolder: join(folder, 'work'),
    ...change,
  });
}

if (process.argv[1] === import.meta.filename) {
  const [, , folder = '.', slow] = process.argv;
  const root = rootContent(await sampleTree());
  async function* slowly() {
    for await (const chunk of root.stream()) {
      yield chunk;
      console.log('writing');
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    }
  }
  await assembleSample(folder, slow === undefined ? {} : { root: { usage: root.usage, stream: slowly } });
}
