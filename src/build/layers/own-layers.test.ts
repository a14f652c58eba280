import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleLock } from '../../../test/support/inventory.ts';
import type { MergedTree } from '../../disk/tar/merged-tree.ts';
import { tarEntry, tarFile } from '../../disk/tar/writer.ts';
import { withTree, writeItems } from './own-layers.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-layers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function archiveOf(tree: MergedTree): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of tree.stream()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function threeLayers() {
  const items = [
    [tarFile('etc/a', 'low', { mtime: 500 }), tarFile('etc/b', 'kept', { mtime: 500 })],
    [
      tarFile('etc/a', 'high', { mtime: 900 }),
      { entry: tarEntry('etc/c', { type: 'hardlink', link: 'etc/a' }) },
    ],
    [tarFile('etc/.wh.b', '')],
  ];
  const layers = items.map((_, number) => ({ name: `layer ${number}`, path: join(folder, `${number}.tar`) }));
  for (const [number, { path }] of layers.entries()) await writeItems(items[number] ?? [], path);
  return layers;
}

describe('looking into the layers of a build', () => {
  test('gives the same bytes again, alone, with more layers and in another order', async () => {
    const layers = await threeLayers();
    const copies = layers.map((layer) => ({ ...layer }));
    const context = { lock: sampleLock() };
    const lower = await withTree(layers.slice(0, 2), context, archiveOf);
    const all = await withTree(layers, context, archiveOf);
    expect(await withTree(copies, context, archiveOf)).toEqual(all);
    expect(await withTree(copies.slice(0, 2), context, archiveOf)).toEqual(lower);
    expect(all).not.toEqual(lower);
    const turned = [...layers].reverse();
    expect(await withTree(turned.slice(1), context, archiveOf)).toEqual(
      await withTree(
        [...copies]
          .reverse()
          .slice(1)
          .map((layer) => ({ ...layer })),
        context,
        archiveOf,
      ),
    );
  });

  test('sets times back for each epoch, whatever was looked into before', async () => {
    const layers = await threeLayers();
    const timeAt = (epoch: number) =>
      withTree(layers, { lock: { ...sampleLock(), epoch } }, async (tree) => tree.find('etc/a')?.mtime);
    expect([await timeAt(1000), await timeAt(700), await timeAt(1000)]).toEqual([900, 700, 900]);
  });
});
