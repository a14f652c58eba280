import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import type { TarEntry } from './entry.ts';
import { sourceInput } from './input.ts';
import { type MergeOptions, mergeLayers } from './merge.ts';
import type { MergedTree } from './merged-tree.ts';
import { readTar } from './reader.ts';
import { type TarItem, tarEntry, tarFile, writeTar } from './writer.ts';

const options: MergeOptions = { epoch: 1000, maxEntries: 1000, maxBytes: 1024 * 1024, devices: 'allow' };

async function merge(
  layers: readonly (readonly TarItem[])[],
  change: Partial<MergeOptions> = {},
): Promise<MergedTree> {
  const sources = await Promise.all(
    layers.map(async (items, index) => ({
      name: `layer${index}`,
      source: bufferSource(await buffer(writeTar(items))),
    })),
  );
  return mergeLayers(sources, { ...options, ...change });
}

async function bytesOf(tree: MergedTree): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of tree.stream()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function listing(tree: MergedTree): Promise<string[]> {
  const lines: string[] = [];
  for await (const { entry, content } of readTar(sourceInput(bufferSource(await bytesOf(tree))), options)) {
    const text = (await buffer(content())).toString();
    lines.push(
      `${entry.path === '' ? '.' : entry.path}${entry.type === 'directory' ? '/' : ''}${describeEntry(entry, text)}`,
    );
  }
  return lines;
}

function describeEntry(entry: TarEntry, text: string): string {
  if (entry.type === 'symlink') return ` -> ${entry.link}`;
  if (entry.type === 'hardlink') return ` = ${entry.link}`;
  return text === '' ? '' : `: ${text}`;
}

function folder(path: string, change: Partial<TarEntry> = {}): TarItem {
  return { entry: tarEntry(path, { type: 'directory', ...change }) };
}
function symlink(path: string, link: string): TarItem {
  return { entry: tarEntry(path, { type: 'symlink', link }) };
}
function hardlink(path: string, link: string): TarItem {
  return { entry: tarEntry(path, { type: 'hardlink', link }) };
}

describe('merged layers', () => {
  it('keep each layer together, parents first, the last one winning', async () => {
    const tree = await merge([
      [tarFile('etc/z', 'base'), tarFile('etc/a', 'base'), folder('etc')],
      [tarFile('opt/tool/bin', 'tool'), tarFile('etc/z', 'second')],
      [tarFile('etc/b', 'third')],
    ]);
    expect(await listing(tree)).toEqual([
      './',
      'etc/',
      'etc/a: base',
      'etc/z: second',
      'opt/',
      'opt/tool/',
      'opt/tool/bin: tool',
      'etc/b: third',
    ]);
  });

  it('give the same bytes whatever the order of names in a layer', async () => {
    const items = [folder('a'), tarFile('a/x', '1'), tarFile('b', '2'), symlink('c', 'b')];
    const one = await bytesOf(await merge([items]));
    const two = await bytesOf(await merge([items.toReversed()]));
    expect(one.equals(two)).toBe(true);
  });

  it('stream the same archive as often as asked', async () => {
    const tree = await merge([[tarFile('a', 'x'.repeat(100_000)), tarFile('b', 'y')]]);
    expect((await bytesOf(tree)).equals(await bytesOf(tree))).toBe(true);
  });

  it('remove files by whiteouts, from lower layers only', async () => {
    const tree = await merge([
      [
        tarFile('d/a', '1'),
        tarFile('d/b', '1'),
        tarFile('d/sub/c', '1'),
        tarFile('e/f', '1'),
        folder('gone/deep'),
      ],
      [
        tarFile('e/.wh..wh..opq', ''),
        tarFile('e/new', '2'),
        tarFile('d/.wh.a', ''),
        tarFile('d/.wh.sub', ''),
        tarFile('.wh.gone', ''),
        tarFile('.wh.never', ''),
      ],
    ]);
    expect(await listing(tree)).toEqual(['./', 'd/', 'd/b: 1', 'e/', 'e/new: 2']);
  });

  it('put files that name /lib where a merged /usr has them, and keep its symlinks', async () => {
    const tree = await merge([
      [folder('usr/lib'), symlink('lib', 'usr/lib'), symlink('var/run', '/run'), folder('run')],
      [folder('lib'), folder('lib/systemd'), tarFile('lib/systemd/unit', 'u'), tarFile('var/run/x', 'r')],
    ]);
    expect(await listing(tree)).toEqual([
      './',
      'lib -> usr/lib',
      'run/',
      'usr/',
      'usr/lib/',
      'var/',
      'var/run -> /run',
      'run/x: r',
      'usr/lib/systemd/',
      'usr/lib/systemd/unit: u',
    ]);
  });

  it('let an opaque folder replace a symlink', async () => {
    const tree = await merge([
      [tarFile('target/kept', '1'), symlink('l', 'target')],
      [folder('l'), tarFile('l/.wh..wh..opq', ''), tarFile('l/x', '2')],
    ]);
    expect(await listing(tree)).toEqual(['./', 'target/', 'target/kept: 1', 'l/', 'l/x: 2']);
  });

  it('keep the content of a hard link when its first name is replaced', async () => {
    const tree = await merge([
      [tarFile('bin/perl', 'old'), hardlink('bin/perl5', 'bin/perl'), hardlink('bin/a', 'bin/perl5')],
      [tarFile('bin/perl', 'new')],
    ]);
    expect(await listing(tree)).toEqual(['./', 'bin/', 'bin/a: old', 'bin/perl5 = bin/a', 'bin/perl: new']);
  });

  it('follow merged /usr in the target of a hard link', async () => {
    const tree = await merge([
      [folder('usr/lib'), symlink('lib', 'usr/lib')],
      [tarFile('lib/x', '1'), hardlink('lib/y', 'lib/x')],
    ]);
    expect(await listing(tree)).toEqual([
      './',
      'lib -> usr/lib',
      'usr/',
      'usr/lib/',
      'usr/lib/x: 1',
      'usr/lib/y = usr/lib/x',
    ]);
  });

  it('replace a folder by a file and a file by a folder', async () => {
    const tree = await merge([
      [tarFile('a/deep/x', '1'), tarFile('b', '1')],
      [tarFile('a', '2'), folder('b'), tarFile('b/y', '2')],
    ]);
    expect(await listing(tree)).toEqual(['./', 'a: 2', 'b/', 'b/y: 2']);
  });

  it('keep owners, modes and capabilities, and set late times back', async () => {
    const xattrs = new Map([
      ['security.capability', Buffer.from('0100000200200000000000000000000000000000', 'hex')],
    ]);
    const tree = await merge([
      [
        tarFile('ping', 'p', { mode: 0o4755, uid: 7, gid: 8, mtime: 999, xattrs }),
        tarFile('late', '', { mtime: 5000 }),
      ],
      [folder('d', { mode: 0o1777, uid: 3 }), tarFile('e/f', '')],
    ]);
    expect(tree.find('ping')).toMatchObject({ mode: 0o4755, uid: 7, gid: 8, mtime: 999, xattrs });
    expect(tree.find('late')?.mtime).toBe(1000);
    expect(tree.find('d')).toMatchObject({ mode: 0o1777, uid: 3 });
    expect(tree.find('e')).toMatchObject({ type: 'directory', mode: 0o755, uid: 0, mtime: 1000 });
  });

  it('take the metadata of a folder from the last layer that has it, and leave its place', async () => {
    const tree = await merge([[folder('d'), tarFile('d/x', '1')], [folder('d', { mode: 0o700 })]]);
    expect(tree.find('d')?.mode).toBe(0o700);
    expect(await listing(tree)).toEqual(['./', 'd/', 'd/x: 1']);
  });

  it('can be looked into through symlinks', async () => {
    const tree = await merge([
      [folder('boot'), tarFile('boot/vmlinuz-1', 'kernel'), symlink('vmlinuz', 'boot/vmlinuz-1')],
    ]);
    expect((await tree.read('vmlinuz', 100))?.toString()).toBe('kernel');
    expect(await tree.read('missing', 100)).toBeUndefined();
    expect(await tree.read('boot', 100)).toBeUndefined();
    expect(tree.list('boot')).toEqual(['vmlinuz-1']);
    await expect(tree.read('vmlinuz', 5)).rejects.toMatchObject({ code: 'tar-limit' });
  });
});

describe('layers that cannot be merged are refused by name', () => {
  it.each([
    ['a hard link to nothing', [hardlink('a', 'b')], /layer1: the hard link a/],
    ['a file below a file', [tarFile('f/x', '')], /layer1: f\/x lies below/],
    ['links in a circle', [symlink('p', 'q'), symlink('q', 'p'), tarFile('p/x', '')], /layer1: the links at/],
    ['a whiteout of nothing', [tarFile('.wh.', '')], /names nothing/],
  ])('%s', async (_what, items, message) => {
    await expect(merge([[tarFile('f', '')], items])).rejects.toThrow(message);
  });

  it('when all layers together pass a limit', async () => {
    const layers = [[tarFile('a', 'xx')], [tarFile('b', 'yy')]];
    await expect(merge(layers, { maxBytes: 3 })).rejects.toMatchObject({ code: 'tar-limit' });
    await expect(merge(layers, { maxEntries: 1 })).rejects.toMatchObject({ code: 'tar-limit' });
  });

  it('and stop when cancelled', async () => {
    const signal = AbortSignal.abort();
    await expect(merge([[tarFile('a', '')]], { signal })).rejects.toMatchObject({ code: 'cancelled' });
  });
});
