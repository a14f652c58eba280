// The reader of NTFS on volumes that ntfs-3g and wimlib made, compared with what dissect, ntfs-3g and libfsntfs read.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFileSource, readBytes } from '../../src/disk/bytes/byte-source.ts';
import { contentExtents } from '../../src/disk/ntfs/content.ts';
import { readMft } from '../../src/disk/ntfs/mft.ts';
import { type NtfsReader, openNtfs } from '../../src/disk/ntfs/reader.ts';
import { readShape } from '../../src/disk/ntfs/volume.ts';
import type { FileEntry } from '../../src/disk/tree/file-tree.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { makeNtfs, runWindowsTool } from '../support/ntfs-volume.ts';
import { type JudgedFile, judgeFiles } from '../support/windows-judge.ts';

let folder: string;

beforeAll(async () => {
  await fetchTools({ group: 'windows' });
  folder = await mkdtemp(join(tmpdir(), 'imago-ntfs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function withVolume<T>(path: string, work: (reader: NtfsReader) => Promise<T>): Promise<T> {
  const source = await openFileSource(path);
  try {
    return await work(await openNtfs(source));
  } finally {
    await source.close();
  }
}

async function entriesOf(reader: NtfsReader): Promise<FileEntry[]> {
  const entries: FileEntry[] = [];
  for await (const entry of reader.walk()) entries.push(entry);
  return entries;
}

async function hashed(reader: NtfsReader): Promise<JudgedFile[]> {
  const found: JudgedFile[] = [];
  for (const entry of await entriesOf(reader)) {
    if (entry.type !== 'file' || entry.path.includes(':') || entry.unreadable !== undefined) continue;
    const hash = createHash('sha256');
    for await (const piece of reader.stream(entry)) hash.update(piece);
    found.push({ path: entry.path, size: entry.size, sha256: hash.digest('hex') });
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Bytes that compress, but not to nothing. */
function text(length: number): Buffer {
  const words = Array.from({ length: 64 }, (_, index) => createHash('sha1').update(`${index}`).digest('hex'));
  let line = '';
  for (let index = 0; line.length < length; index += 1) line += `${words[(index * 7 + (index >> 3)) % 64]} `;
  return Buffer.from(line.slice(0, length));
}

const items = {
  files: {
    'empty.txt': '',
    'small.txt': 'in the record',
    'Windows/System32/large.dll': text(700_000),
    'Windows/System32/drivers/': '',
    'Users/Public/Grüße 世界 😀.txt': 'names',
    [`${'n'.repeat(251)}.txt`]: 'long',
    'linked.txt': 'many names',
  },
  hardLinks: Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `Users/Public/other-name-of-a-file-${index}.txt`,
      'linked.txt',
    ]),
  ),
  symlinks: { 'to folder': 'Windows/System32' },
  streams: { '/small.txt:Zone.Identifier': '[ZoneTransfer]\r\nZoneId=3\r\n' },
};

describe('a volume', () => {
  for (const [what, options] of [
    ['of 4 KiB clusters', {}],
    ['of 64 KiB clusters', { clusterBytes: 65_536, megabytes: 64 }],
    ['of 512-byte clusters', { clusterBytes: 512 }],
  ] as const) {
    it(`${what} reads as dissect reads it`, async () => {
      const path = join(folder, `varied-${what.replaceAll(' ', '-')}`);
      await makeNtfs(path, items, options);
      const judged = await judgeFiles(path);
      expect(judged).toHaveLength(46);
      await withVolume(path, async (reader) => expect(await hashed(reader)).toEqual(judged));
    });
  }

  it('has the paths that ntfsls lists, and the name that fsntfsinfo reads', async () => {
    const path = join(folder, 'paths');
    await makeNtfs(path, items);
    const listed = (await runWindowsTool('ntfsls', ['-R', '-a', path])).split('\n');
    const names = new Set(listed.map((line) => line.trim()));
    await withVolume(path, async (reader) => {
      const entries = await entriesOf(reader);
      for (const { path: place } of entries.filter((entry) => !entry.path.includes(':'))) {
        expect(names.has(place.slice(place.lastIndexOf('/') + 1)) || place === '/').toBe(true);
      }
      expect(await runWindowsTool('fsntfsinfo', [path])).toContain('Name\t\t\t\t: Windows');
    });
  });

  it('tells links, other names, named streams and free bytes', async () => {
    const path = join(folder, 'kinds');
    await makeNtfs(path, items);
    await withVolume(path, async (reader) => {
      const entries = new Map((await entriesOf(reader)).map((entry) => [entry.path, entry]));
      expect(entries.get('/to folder')).toMatchObject({ type: 'symlink', link: 'Windows\\System32' });
      expect(entries.get('/linked.txt')).toMatchObject({ links: 41, size: 10 });
      expect(entries.get('/Users/Public/other-name-of-a-file-7.txt')?.inode).toBe(
        entries.get('/linked.txt')?.inode,
      );
      const stream = entries.get('/small.txt:Zone.Identifier');
      expect(stream?.size).toBe(26);
      expect((await reader.read(stream ?? { inode: 0 }, 100)).toString()).toContain('ZoneId=3');
      expect(reader.lost).toBe(0);
      expect(reader.freeBytes).toBeGreaterThan(reader.totalBytes / 2);
      expect(reader.freeBytes).toBeLessThan(reader.totalBytes);
    });
  });

  it('is looked up regardless of case, as Windows does', async () => {
    const path = join(folder, 'case');
    await makeNtfs(path, items);
    await withVolume(path, async (reader) => {
      const found = await reader.find('/WINDOWS/system32/LARGE.DLL');
      expect(found?.path).toBe('/Windows/System32/large.dll');
      expect((await reader.find('/users/public/GRÜSSE 世界 😀.TXT'))?.path).toBeUndefined();
      expect((await reader.find('/users/public/GRÜßE 世界 😀.TXT'))?.size).toBe(5);
      expect(await reader.find('/nothing')).toBeUndefined();
    });
  });

  it('has compressed and sparse files, unpacked as dissect does', async () => {
    const path = join(folder, 'packed');
    await makeNtfs(path, { files: { 'packed/': '' } });
    await compressFolder(path, 'packed');
    const contents = [
      text(1_000_000),
      Buffer.alloc(400_000),
      Buffer.concat([text(70_000), Buffer.alloc(200_000)]),
    ];
    for (const [index, content] of contents.entries()) {
      const from = join(folder, 'from');
      await writeFile(from, content);
      await runWindowsTool('ntfscp', ['-q', path, from, `/packed/${index}.txt`]);
    }
    const judged = await judgeFiles(path);
    const expected = contents.map((content, index) => ({
      path: `/packed/${index}.txt`,
      size: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    }));
    expect(judged).toEqual(expected);
    const source = await openFileSource(path);
    const reader = await openNtfs(source);
    expect(await hashed(reader)).toEqual(judged);
    const packed = await reader.find('/packed/0.txt');
    let stored = 0;
    for await (const { length } of reader.extents(packed ?? { inode: 0 })) stored += length;
    expect(stored).toBeLessThan(600_000);
    await source.close();
  });

  it('has a file in so many pieces that several records list them', async () => {
    const path = join(folder, 'fragments');
    const content = Buffer.concat(Array.from({ length: 20 }, () => text(1_000_000)));
    await makeNtfs(
      path,
      { files: { 'pieces.bin': content } },
      { megabytes: 64, prepare: (empty) => fragmentFreeSpace(empty) },
    );
    await withVolume(path, async (reader) => {
      const entry = await reader.find('/pieces.bin');
      let pieces = 0;
      for await (const _ of reader.extents(entry ?? { inode: 0 })) pieces += 1;
      expect(pieces).toBeGreaterThan(500);
      expect(await hashed(reader)).toEqual(await judgeFiles(path));
      const bytes = await reader.read(entry ?? { inode: 0 }, 30_000_000);
      expect(bytes.equals(content)).toBe(true);
    });
  });

  it.each([
    ['4K', 0],
    ['8K', 2],
    ['16K', 3],
  ])('unpacks what Windows compressed by XPRESS%s, as wimlib packed it', async (chunk, algorithm) => {
    const path = join(folder, `wof-${chunk}`);
    const noise = createHash('sha512').update('x').digest();
    const content = Buffer.concat([text(50_000), Buffer.alloc(70_000), noise, text(123)]);
    const tag = Buffer.from('170000801000000001000000020000000000000000000000', 'hex');
    tag.writeUInt32LE(algorithm, 20);
    const packed = await packXpress(content, chunk);
    expect(packed.length).toBeLessThan(content.length / 2);
    await makeNtfs(path, {
      files: { 'a.dll': Buffer.alloc(content.length) },
      streams: { '/a.dll:WofCompressedData': packed, '/a.dll:0xC0': tag },
    });
    await withVolume(path, async (reader) => {
      const entry = await reader.find('/a.dll');
      expect(entry).toMatchObject({ size: content.length });
      expect(entry?.unreadable).toBeUndefined();
      expect((await reader.read(entry ?? { inode: 0 }, content.length)).equals(content)).toBe(true);
    });
    const cut = join(folder, `cut-${chunk}`);
    await makeNtfs(cut, {
      files: { 'a.dll': Buffer.alloc(content.length) },
      streams: { '/a.dll:WofCompressedData': packed.subarray(0, 4000), '/a.dll:0xC0': tag },
    });
    await withVolume(cut, async (reader) => {
      const entry = await reader.find('/a.dll');
      await expect(reader.read(entry ?? { inode: 0 }, content.length)).rejects.toMatchObject({
        code: 'ntfs-invalid',
      });
    });
  });

  it('says that what Windows compressed by LZX cannot be read, and does not read zeros instead', async () => {
    const path = join(folder, 'wof');
    const tag = Buffer.from('170000801000000001000000020000000100000001000000', 'hex');
    await makeNtfs(path, { files: { 'a.dll': Buffer.alloc(5000) }, streams: { '/a.dll:0xC0': tag } });
    await withVolume(path, async (reader) => {
      const entry = await reader.find('/a.dll');
      expect(entry).toMatchObject({ unreadable: 'compressed', size: 5000 });
      await expect(reader.read(entry ?? { inode: 0 }, 10_000)).rejects.toMatchObject({
        code: 'ntfs-invalid',
      });
    });
  });

  it('that was not dismounted is refused, as is one that BitLocker encrypted', async () => {
    const path = join(folder, 'dirty');
    await makeNtfs(path, { files: { 'a.txt': 'a' } });
    const bytes = await readFile(path);
    const place = await recordPlace(path, 3);
    for (let at = place + bytes.readUInt16LE(place + 20); ; at += bytes.readUInt32LE(at + 4)) {
      if (bytes.readUInt32LE(at) !== 0x70) continue;
      bytes.writeUInt16LE(1, at + bytes.readUInt16LE(at + 20) + 10);
      break;
    }
    await writeFile(path, bytes);
    await expect(withVolume(path, entriesOf)).rejects.toMatchObject({ code: 'ntfs-unclean' });
    bytes.write('-FVE-FS-', 3, 'latin1');
    await writeFile(path, bytes);
    await expect(withVolume(path, entriesOf)).rejects.toMatchObject({ code: 'ntfs-encrypted' });
  });
});

const wimEntry = 50;

/** The content as wimlib packs it into an archive: places of chunks, and the chunks, as in the stream of WOF. */
async function packXpress(content: Buffer, chunk: string): Promise<Buffer> {
  const [from, archive] = [join(folder, `from-${chunk}`), join(folder, `${chunk}.wim`)];
  await mkdir(from);
  await writeFile(join(from, 'a'), content);
  await runWindowsTool('wimlib-imagex', [
    ...['capture', from, archive, 'a', '--compress=xpress', `--chunk-size=${chunk}`, '--no-acls', '--quiet'],
  ]);
  const bytes = await readFile(archive);
  const number = (at: number, length: number) => Number(bytes.readUIntLE(at, Math.min(length, 6)));
  const table = { size: number(0x30, 6), at: number(0x38, 8) };
  for (let at = table.at; at < table.at + table.size; at += wimEntry) {
    if (number(at + 16, 8) !== content.length) continue;
    const start = number(at + 8, 8);
    return bytes.subarray(start, start + number(at, 6));
  }
  throw new Error('the archive does not have the file');
}

/** Where a record lies: the file table of these volumes is in one piece. */
async function recordPlace(path: string, record: number): Promise<number> {
  const source = await openFileSource(path);
  const shape = await readShape(source);
  await source.close();
  return shape.mftCluster * shape.clusterSize + record * shape.recordSize;
}

/** New files in the folder become compressed ones. */
async function compressFolder(path: string, name: string): Promise<void> {
  const record = await withVolume(path, async (reader) => (await reader.find(`/${name}`))?.inode ?? 0);
  const at = await recordPlace(path, record);
  const file = await open(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(1024), 0, 1024, at);
  const attribute = buffer.readUInt16LE(20);
  expect(buffer.readUInt32LE(attribute)).toBe(0x10);
  const flags = attribute + buffer.readUInt16LE(attribute + 20) + 32;
  buffer.writeUInt32LE(buffer.readUInt32LE(flags) | 0x800, flags);
  await file.write(buffer, 0, 1024, at);
  await file.close();
}

/** Marks every second eight clusters as used. */
async function fragmentFreeSpace(path: string): Promise<void> {
  const source = await openFileSource(path);
  const shape = await readShape(source);
  const bitmap = await (await readMft(source, shape)).content(6, 0x80);
  const file = await open(path, 'r+');
  for (const { offset, length } of contentExtents(
    bitmap ?? { size: 0, written: 0, unit: 0, runs: [] },
    shape,
  )) {
    const bytes = await readBytes(source, offset, length);
    for (const [index, byte] of bytes.entries()) bytes.writeUInt8(index % 2 === 0 ? byte : 0xff, index);
    await file.write(bytes, 0, bytes.length, offset);
  }
  await file.close();
  await source.close();
}
