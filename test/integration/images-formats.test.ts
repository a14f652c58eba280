// VHD, GPT, FAT and tar as programs see them that we did not write: qemu-img, sfdisk, fsck.fat, mtools, tar.
import { statfsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileSource, readBytes, writeFully } from '../../src/disk/bytes/byte-source.ts';
import { dataExtents } from '../../src/disk/bytes/raw-extents.ts';
import { convertDisk } from '../../src/disk/convert/convert.ts';
import { layOutFat } from '../../src/disk/fat/layout.ts';
import { readGpt } from '../../src/disk/gpt/reader.ts';
import { encodeGpt, legacyBiosBootable, partitionTypes } from '../../src/disk/gpt/table.ts';
import { streamInput } from '../../src/disk/tar/input.ts';
import { readTar, type TarRecord } from '../../src/disk/tar/reader.ts';
import { tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { openVhd } from '../../src/disk/vhd/reader.ts';
import type { DiskFormat } from '../../src/domain/image/disk-file.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { writeQcow2Bomb } from '../support/qcow2-bomb.ts';

const mebibyte = 1024 * 1024;
const identity = { timestamp: 1_750_000_000, uuid: '6a1d9d2e-9f6b-4a53-8f3e-0d9a7c1b2e3f' };
let folder: string;
let raw: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-formats-'));
  await fetchTools({ group: 'disk' });
  await fetchTools({ group: 'judges' });
  raw = join(folder, 'disk.raw');
  const file = await open(raw, 'w');
  await file.truncate(37 * mebibyte);
  for (const at of [0, 5 * mebibyte + 4096, 20 * mebibyte, 37 * mebibyte - 4096]) {
    await writeFully(file, at, Buffer.alloc(4096, `at ${at} `));
  }
  await file.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function info(path: string, format: string): Promise<Record<string, unknown>> {
  return JSON.parse(
    (await runTool('qemu-img', ['info', '--output=json', '-f', format, path])).stdout.toString(),
  );
}

function convert(from: string, to: string, format: DiskFormat): Promise<void> {
  return convertDisk({ from, to, format, identity, workFolder: join(folder, 'work') });
}

describe('qemu-img agrees', () => {
  const qemuFormat = { raw: 'raw', 'vhd-fixed': 'vpc', 'vhd-dynamic': 'vpc', qcow2: 'qcow2' } as const;
  const formats = Object.keys(qemuFormat) as DiskFormat[];

  it.each(formats.flatMap((from) => formats.map((to) => [from, to] as const)))(
    'that %s to %s keeps the disk',
    async (from, to) => {
      const first = join(folder, `${from}-${to}.1`);
      const second = join(folder, `${from}-${to}.2`);
      await convert(raw, first, from);
      await convert(first, second, to);
      const compare = ['compare', '-f', 'raw', '-F', qemuFormat[to], raw, second];
      expect((await runTool('qemu-img', compare)).stdout.toString()).toContain('Images are identical');
      expect(await info(second, qemuFormat[to])).toMatchObject({
        format: qemuFormat[to],
        'virtual-size': 37 * mebibyte,
      });
      expect((await stat(second)).blocks * 512).toBeLessThan(12 * mebibyte);
      if (to === 'vhd-dynamic' || to === 'qcow2')
        await runTool('qemu-img', ['check', '-f', qemuFormat[to], second], { accept: [0, 63] });
    },
  );

  it('that a fixed VHD is whole MiB and a footer', async () => {
    const path = join(folder, 'fixed.vhd');
    await convert(raw, path, 'vhd-fixed');
    expect((await stat(path)).size).toBe(37 * mebibyte + 512);
  });

  it.each(['fixed', 'dynamic'])('and we read the %s VHD that it makes', async (subformat) => {
    const path = join(folder, `qemu-${subformat}.vhd`);
    await runTool('qemu-img', [
      'convert',
      '-O',
      'vpc',
      '-o',
      `subformat=${subformat},force_size=on`,
      raw,
      path,
    ]);
    const file = await openFileSource(path);
    try {
      const { disk } = await openVhd(file);
      expect((await readBytes(disk, 0, disk.size)).equals(await readFile(raw))).toBe(true);
    } finally {
      await file.close();
    }
  });

  it('about which parts of a file hold data', async () => {
    const extents = await dataExtents(raw);
    expect(extents.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(mebibyte);
    for (const at of [0, 5 * mebibyte + 4096, 20 * mebibyte]) {
      expect(extents.some(({ offset, length }) => at >= offset && at + 4096 <= offset + length)).toBe(true);
    }
  });
});

it('a qcow2 that leads to a file of this machine is refused', async () => {
  const path = join(folder, 'backed.qcow2');
  await runTool('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', '/etc/passwd', '-F', 'raw', path]);
  await expect(convert(path, join(folder, 'stolen'), 'raw')).rejects.toMatchObject({ code: 'input-invalid' });
});

it('a conversion that is cancelled leaves the old file and nothing else', async () => {
  const target = join(folder, 'kept');
  await writeFile(target, 'old');
  const signal = AbortSignal.abort();
  const work = join(folder, 'cancelled-work');
  await expect(
    convertDisk({ from: raw, to: target, format: 'vhd-dynamic', identity, workFolder: work, signal }),
  ).rejects.toMatchObject({ code: 'cancelled' });
  expect(await readFile(target, 'utf8')).toBe('old');
  expect((await runTool('find', [work, '-mindepth', '1'])).stdout.toString()).toBe('');
});

it('sfdisk reads our table and finds no fault, and we read the one that it makes', async () => {
  const path = join(folder, 'table.raw');
  const size = 64 * mebibyte;
  const partition = {
    number: 1,
    type: partitionTypes.efiSystem,
    guid: '01234567-89ab-4def-8123-456789abcdef',
    firstSector: 2048,
    lastSector: 20_479,
    attributes: legacyBiosBootable,
    name: 'esp',
  };
  const root = {
    ...partition,
    number: 2,
    type: partitionTypes.linuxRootX64,
    firstSector: 20_480,
    lastSector: 100_000,
    attributes: 0n,
    name: 'wurzel ä',
  };
  const bytes = encodeGpt(size, '0f0e0d0c-0b0a-4908-8706-050403020100', [partition, root]);
  await writeFile(path, bytes.primary);
  await truncate(path, size);
  const file = await open(path, 'r+');
  await writeFully(file, bytes.backupOffset, bytes.backup);
  await file.close();

  const sfdisk = await requireTool('sfdisk');
  expect((await runTool(sfdisk, ['--verify', path])).stdout.toString()).toContain('No errors detected');
  const { partitiontable } = JSON.parse((await runTool(sfdisk, ['--json', path])).stdout.toString());
  expect(partitiontable).toMatchObject({
    label: 'gpt',
    id: '0F0E0D0C-0B0A-4908-8706-050403020100',
    partitions: [
      {
        start: 2048,
        size: 18_432,
        type: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B',
        name: 'esp',
        attrs: 'LegacyBIOSBootable',
      },
      { start: 20_480, size: 79_521, uuid: '01234567-89AB-4DEF-8123-456789ABCDEF', name: 'wurzel ä' },
    ],
  });

  async function* script() {
    yield Buffer.from('label: gpt\nsize=10MiB,name=one\nsize=20MiB,name=two,attrs=RequiredPartition\n');
  }
  await runTool(sfdisk, ['--quiet', path], { stdin: script() });
  const source = await openFileSource(path);
  const gpt = await readGpt(source);
  await source.close();
  expect(gpt.partitions.map(({ name, attributes, firstSector }) => [name, attributes, firstSector])).toEqual([
    ['one', 0n, 2048],
    ['two', 1n, 2048 + 10 * 2048],
  ]);
});

it('fsck.fat finds no fault, and mtools reads the files', async () => {
  const path = join(folder, 'esp.img');
  const program = Buffer.alloc(1_234_567, 'efi ');
  const pieces = layOutFat({
    size: 64 * mebibyte,
    firstSector: 2048,
    volumeId: 0xcafe_f00d,
    label: 'ESP',
    epoch: identity.timestamp,
    files: [
      { path: 'EFI/BOOT/BOOTX64.EFI', content: program },
      { path: 'EMPTY.TXT', content: Buffer.alloc(0) },
      ...Array.from({ length: 40 }, (_, index) => ({
        path: `MANY/F${index}`,
        content: Buffer.from(`file ${index}`),
      })),
    ],
  });
  const file = await open(path, 'w');
  await file.truncate(64 * mebibyte);
  for (const piece of pieces) await writeFully(file, piece.offset, piece.bytes);
  await file.close();
  const check = await runTool(await requireTool('fsck.fat'), ['-n', '-v', path]);
  expect(check.stdout.toString()).not.toMatch(/differ|wrong|free cluster summary wrong/i);
  const mtype = await requireTool('mtype');
  const env = { MTOOLS_SKIP_CHECK: '1' };
  const read = async (name: string) => (await runTool(mtype, ['-i', path, `::/${name}`], { env })).stdout;
  expect((await read('EFI/BOOT/BOOTX64.EFI')).equals(program)).toBe(true);
  expect((await read('MANY/F39')).toString()).toBe('file 39');
});

describe('a small qcow2 file that is a large disk', () => {
  async function peakOf(work: Promise<unknown>): Promise<number> {
    let peak = 0;
    const timer = setInterval(async () => {
      const names = await readdir(join(folder, 'work'), { recursive: true }).catch(() => []);
      const found = await Promise.all(
        names.map((name) => stat(join(folder, 'work', name)).catch(() => undefined)),
      );
      peak = Math.max(
        peak,
        found.reduce((sum, one) => sum + (one?.blocks ?? 0) * 512, 0),
      );
    }, 10);
    await work.finally(() => clearInterval(timer));
    return peak;
  }

  const { bavail, bsize } = statfsSync(tmpdir());
  const tables = Math.ceil((bavail * bsize) / (512 * mebibyte));

  it.runIf(tables <= 4096)('is refused before anything is written if there is not enough space', async () => {
    const bomb = join(folder, 'huge.qcow2');
    await writeQcow2Bomb(bomb, tables * 512 * mebibyte);
    const peak = await peakOf(
      expect(convert(bomb, join(folder, 'huge.raw'), 'raw')).rejects.toMatchObject({ code: 'no-space' }),
    );
    expect(peak).toBeLessThan(mebibyte);
  });

  it.each(['raw', 'vhd-fixed'] as const)('is written once as %s', async (format) => {
    const bomb = join(folder, 'bomb.qcow2');
    await writeQcow2Bomb(bomb, 512 * mebibyte);
    const counts: number[] = [];
    const to = join(folder, `bomb.${format}`);
    const request = { from: bomb, to, format, identity, workFolder: join(folder, 'work') };
    const peak = await peakOf(convertDisk({ ...request, onBytes: (bytes) => counts.push(bytes) }));
    expect(peak).toBeLessThan(600 * mebibyte);
    expect((await stat(to)).blocks * 512).toBeGreaterThan(500 * mebibyte);
    expect(Math.max(...counts)).toBeLessThan(600 * mebibyte);
    await rm(to);
  });
});

describe('GNU tar', () => {
  async function readAll(bytes: Buffer): Promise<{ record: TarRecord; text: string }[]> {
    const found: { record: TarRecord; text: string }[] = [];
    async function* stream() {
      yield bytes;
    }
    for await (const record of readTar(streamInput(stream()), {
      maxEntries: 1000,
      maxBytes: mebibyte,
      devices: 'allow',
    })) {
      let text = '';
      for await (const part of record.content()) text += part.toString();
      found.push({ record, text });
    }
    return found;
  }

  it.each(['ustar', 'gnu', 'pax', 'v7', 'oldgnu'])('writes %s archives that we read', async (format) => {
    const tree = join(folder, `tree-${format}`);
    const long = format === 'v7' ? 'short' : `${'long-name-'.repeat(9)}/${'deep-'.repeat(15)}`;
    await mkdir(join(tree, long), { recursive: true });
    await writeFile(join(tree, long, 'file'), `content of ${format}`);
    await runTool('ln', [
      '-s',
      format === 'ustar' || format === 'v7' ? 'target' : 't'.repeat(150),
      join(tree, 'link'),
    ]);
    await writeFile(join(tree, 'first'), '');
    await runTool('ln', [join(tree, 'first'), join(tree, 'second')]);
    const { stdout } = await runTool('tar', [
      '--create',
      `--format=${format}`,
      '--sort=name',
      '-C',
      tree,
      '.',
    ]);
    const found = await readAll(stdout);
    const entries = found.map(({ record }) => record.entry);
    expect(entries.find(({ path }) => path === 'link')).toMatchObject({ type: 'symlink' });
    expect(entries.filter(({ type }) => type === 'hardlink')).toHaveLength(1);
    expect(entries.map(({ path }) => path)).toContain(`${long}/file`);
    expect(found.find(({ text }) => text !== '')?.text).toBe(`content of ${format}`);
  });

  it('reads what we write, long names and all', async () => {
    const long = `${'ordner-ä/'.repeat(30)}file`;
    const path = join(folder, 'ours.tar');
    const items = [
      tarFile(long, 'deep', { mode: 0o640, uid: 3_000_000, gid: 7, mtime: 1_700_000_000 }),
      { entry: tarEntry('link', { type: 'symlink', link: 'x'.repeat(200) }) },
      { entry: tarEntry('hard', { type: 'hardlink', link: long }) },
    ];
    await writeFile(path, writeTar(items));
    const { stdout } = await runTool('tar', [
      '--list',
      '--verbose',
      '--numeric-owner',
      '--quoting-style=literal',
      '-f',
      path,
    ]);
    const lines = stdout.toString().trim().split('\n');
    expect(lines[0]).toMatch(/^-rw-r----- 3000000\/7\s+4 2023-11-14 22:13 ordner-ä/);
    expect(lines[1]).toContain(`link -> ${'x'.repeat(200)}`);
    expect(lines[2]).toContain(`hard link to ${long}`);
  });
});
