// The ext4 reader against mke2fs, which makes what it reads, and debugfs, which reads the same.
import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ByteSource, openFileSource, readBytes } from '../../src/disk/bytes/byte-source.ts';
import { type Ext4Entry, openExt4 } from '../../src/disk/ext4/reader.ts';
import type { TarItem } from '../../src/disk/tar/writer.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { requireTool } from '../../src/host/tools/tools.ts';
import { bufferSource } from '../support/buffer-source.ts';
import { debugfs, makeExt4Image, variedItems } from '../support/ext4-image.ts';

let folder: string;

beforeAll(() => fetchTools({ group: 'disk' }));
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-ext4-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function withSource<T>(path: string, work: (source: ByteSource) => Promise<T>): Promise<T> {
  const source = await openFileSource(path);
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}

async function contentOf(item: TarItem): Promise<Buffer> {
  const { content } = item;
  if (content === undefined) return Buffer.alloc(0);
  return content instanceof Uint8Array ? Buffer.from(content) : buffer(content);
}

async function expectSame(source: ByteSource, items: readonly TarItem[]): Promise<void> {
  const reader = await openExt4(source);
  const entries = new Map<string, Ext4Entry>();
  for await (const entry of reader.walk()) entries.set(entry.path, entry);
  for (const item of items) {
    const expected = item.entry;
    const path = `/${expected.path}`;
    const found = entries.get(path);
    entries.delete(path);
    if (found === undefined) throw new Error(`${path} is missing`);
    if (expected.type === 'hardlink') {
      expect(found).toMatchObject({
        type: 'file',
        inode: (await reader.find(`/${expected.link}`))?.inode,
        links: 2,
      });
      continue;
    }
    const { type, mode, uid, gid, size, link, device, mtime, xattrs } = expected;
    const times = path === '/' ? {} : { mtime };
    expect({ ...found, path }).toMatchObject({ path, type, mode, uid, gid, size, link, device, ...times });
    expect([...found.attributes].sort()).toEqual([...xattrs].sort());
    if (type !== 'file') continue;
    const content = await contentOf(item);
    if (!(await reader.read(found, size)).equals(content)) throw new Error(`${path} has other content`);
  }
  expect([...entries.keys()]).toEqual(['/lost+found']);
}

describe('a file system made from a tar archive reads back as the archive', () => {
  const shapes = {
    'with checksums and 64 bits': { features: 'metadata_csum,64bit,extra_isize,large_file,huge_file' },
    'with blocks of 1 KiB and no checksums': { features: '', blockSize: 1024 },
    'with a checksum seed and large directories': { features: 'metadata_csum,metadata_csum_seed,large_dir' },
    'with small files inside of their inodes': { features: 'metadata_csum,inline_data' },
    'with descriptors in their groups': {
      features: 'metadata_csum,64bit,meta_bg,^resize_inode,sparse_super',
      blockSize: 1024,
      more: ['-g', '256'],
    },
    'with clusters': { features: 'metadata_csum,bigalloc', more: ['-C', '16384'] },
  } as const;
  for (const [name, options] of Object.entries(shapes)) {
    it(name, async () => {
      const items = variedItems();
      const path = await makeExt4Image(folder, 'fs', items, options);
      await runTool(await requireTool('e2fsck'), ['-f', '-n', path]);
      await withSource(path, (source) => expectSame(source, items));
    });
  }
});

/** Every file below a folder of this machine, with a hash of its content or the target of a link. */
async function describeFolder(root: string, below = ''): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await readdir(join(root, below))).sort()) {
    const path = join(below, name);
    const facts = await lstat(join(root, path));
    if (facts.isDirectory()) lines.push(`/${path} directory`, ...(await describeFolder(root, path)));
    if (facts.isSymbolicLink()) lines.push(`/${path} ${await readlink(join(root, path))}`);
    if (facts.isFile()) {
      const sha256 = createHash('sha256').update(await readFile(join(root, path)));
      lines.push(
        `/${path} ${(facts.mode & 0o777).toString(8)} ${facts.mtimeMs / 1000} ${sha256.digest('hex')}`,
      );
    }
  }
  return lines;
}

describe('debugfs agrees', () => {
  it('about every name, mode, time, link and byte', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(300), { features: 'metadata_csum,64bit' });
    await mkdir(join(folder, 'out'));
    await debugfs(path, `rdump / ${join(folder, 'out')}`);
    const ours: string[] = [];
    await withSource(path, async (source) => {
      const reader = await openExt4(source);
      for await (const entry of reader.walk()) {
        if (entry.type === 'directory' && entry.path !== '/') ours.push(`${entry.path} directory`);
        if (entry.type === 'symlink') ours.push(`${entry.path} ${entry.link}`);
        if (entry.type !== 'file') continue;
        const sha256 = createHash('sha256');
        for await (const piece of reader.stream(entry)) sha256.update(piece);
        ours.push(`${entry.path} ${(entry.mode & 0o777).toString(8)} ${entry.mtime} ${sha256.digest('hex')}`);
      }
    });
    const known = await describeFolder(join(folder, 'out'));
    expect(ours.sort()).toEqual(known.sort());
  });

  it('about attributes, in the inode and in a block of their own', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(3), { features: 'metadata_csum,64bit' });
    await writeFile(join(folder, 'large'), 'l'.repeat(600));
    const debug = await requireTool('debugfs');
    for (const command of [
      'ea_set /usr/labels user.small s',
      'ea_set /usr/labels trusted.empty ""',
      `ea_set -f ${join(folder, 'large')} /usr/labels user.large`,
    ]) {
      await runTool(debug, ['-w', '-R', command, path]);
    }
    await runTool(await requireTool('e2fsck'), ['-f', '-n', path]);
    expect(await debugfs(path, 'stat /usr/labels')).toMatch(/File ACL: [1-9]/);
    await withSource(path, async (source) => {
      const entry = await (await openExt4(source)).find('/usr/labels');
      expect([...(entry?.attributes ?? [])].map(([name, value]) => [name, value.toString()]).sort()).toEqual([
        ['trusted.empty', ''],
        ['user.large', 'l'.repeat(600)],
        ['user.small', 's'],
      ]);
    });
  });

  it('about where the content of a file lies', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(10), { features: 'metadata_csum' });
    const blocks = (await debugfs(path, 'blocks /usr/holes')).trim().split(/\s+/).map(Number);
    await withSource(path, async (source) => {
      const reader = await openExt4(source);
      const entry = await reader.find('/usr/holes');
      if (entry === undefined) throw new Error('the file is missing');
      const ours: number[] = [];
      for await (const { offset, length } of reader.extents(entry)) {
        for (let at = offset; at < offset + length; at += 4096) ours.push(at / 4096);
      }
      expect(blocks).toEqual(expect.arrayContaining(ours));
      // Besides data, debugfs lists the blocks of the extent tree.
      expect(blocks.length - ours.length).toBeLessThan(8);
      expect(ours.length).toBe(366);
    });
  });
});

describe('what must not be read', () => {
  it('a journal that was not replayed, unless it is asked for', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(3), { features: 'metadata_csum' });
    await runTool(await requireTool('debugfs'), ['-w', '-R', 'feature needs_recovery', path]);
    await withSource(path, async (source) => {
      await expect(openExt4(source)).rejects.toMatchObject({ code: 'ext4-unclean' });
      const reader = await openExt4(source, { allowUnclean: true });
      expect(await reader.find('/etc/one')).toMatchObject({ size: 1 });
    });
  });

  it('a file system that its kernel marked as faulty', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(3), { features: 'metadata_csum' });
    await runTool(await requireTool('debugfs'), ['-w', '-R', 'set_super_value state 2', path]);
    await withSource(path, (source) =>
      expect(openExt4(source)).rejects.toMatchObject({ code: 'ext4-unclean' }),
    );
  });

  it('bytes that were changed behind a checksum', async () => {
    const path = await makeExt4Image(folder, 'fs', variedItems(50), {
      features: 'metadata_csum',
      megabytes: 16,
    });
    const found = await debugfs(path, 'stat /many');
    const block = Number(/EXTENTS:\s+\(\d+(?:-\d+)?\):(\d+)/.exec(found)?.[1]);
    await withSource(path, async (source) => {
      const bytes = await readBytes(source, 0, source.size);
      bytes.writeUInt8(bytes.readUInt8(block * 4096 + 40) ^ 1, block * 4096 + 40);
      const reader = await openExt4(bufferSource(bytes));
      await expect(reader.find('/many/file-with-a-rather-long-name-1')).rejects.toMatchObject({
        code: 'ext4-invalid',
      });
    });
  });
});
