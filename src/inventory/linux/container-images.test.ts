// The fixture is a store that containerd itself filled: `ctr --namespace k8s.io images import` of one image with
// one layer, which was then pinned. `ctr images ls` called it linux/amd64 and 10.6 KiB with its manifest.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { type BoltBucket, boltFile } from '../../build/containers/bolt-file.ts';
import type { Ext4Entry } from '../../disk/ext4/reader.ts';
import { sourceInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { containerdRoot, readContainerImages } from './container-images.ts';
import type { DiskTree } from './disk-tree.ts';

const digest = 'sha256:e07ba8c839b1e4aa9d17b26639de5305d6324d8a0aadc90a459a6f54be82bbfc';
const root = '/var/lib/containerd';
const database = `${root}/io.containerd.metadata.v1.bolt/meta.db`;
const files = new Map<string, Buffer>();

beforeAll(async () => {
  const archive = gunzipSync(readFileSync(join(import.meta.dirname, 'containerd-store.fixture.gz')));
  const options = { maxEntries: 100, maxBytes: 10_000_000 };
  for await (const { entry, content } of readTar(sourceInput(bufferSource(archive)), options)) {
    if (entry.type === 'file') files.set(`${root}/${entry.path}`, await buffer(content()));
  }
});

/** A tree that has these files and nothing else. */
function treeOf(content: ReadonlyMap<string, Buffer>): DiskTree {
  const entryOf = (path: string): Ext4Entry | undefined => {
    const bytes = content.get(path);
    if (bytes === undefined) return undefined;
    const owner = { mode: 0o644, uid: 0, gid: 0, mtime: 0, inode: 1, links: 1 };
    return {
      path,
      type: 'file',
      size: bytes.length,
      link: '',
      device: undefined,
      attributes: new Map(),
      ...owner,
    };
  };
  return {
    entries: [],
    resolve: entryOf,
    look: entryOf,
    list: () => [],
    readText: async (path) => content.get(path)?.toString('utf8'),
    read: async ({ path }) => content.get(path) ?? Buffer.alloc(0),
  };
}

describe('a store that containerd filled', () => {
  it('is listed with name, digest, size, platform, and pin', async () => {
    expect(await readContainerImages(treeOf(files), root)).toEqual([
      {
        name: 'registry.example.com/hello:1.0',
        digest,
        sizeBytes: 10_413,
        platform: 'linux/amd64',
        isPinned: true,
      },
    ]);
  });

  it('still names an image whose content is gone', async () => {
    const only = new Map([[database, files.get(database) ?? Buffer.alloc(0)]]);
    expect(await readContainerImages(treeOf(only), root)).toMatchObject([
      { digest, sizeBytes: 0, platform: '' },
    ]);
  });

  it('is empty where there is no database, and an error where that is damaged', async () => {
    expect(await readContainerImages(treeOf(new Map()), root)).toEqual([]);
    const damaged = new Map([[database, Buffer.alloc(5000)]]);
    await expect(readContainerImages(treeOf(damaged), root)).rejects.toMatchObject({
      code: 'inventory-invalid',
    });
  });
});

/** A database with these image names, each pointing to a manifest digest. */
function databaseOf(names: Readonly<Record<string, string>>): DiskTree {
  const bucket = (entries: readonly (readonly [string, Buffer | BoltBucket])[]): BoltBucket => ({
    entries: new Map(entries),
  });
  const images = Object.entries(names).map(
    ([name, target]) => [name, bucket([['target', bucket([['digest', Buffer.from(target)]])]])] as const,
  );
  const file = boltFile(bucket([['v1', bucket([['k8s.io', bucket([['images', bucket(images)]])]])]]));
  return treeOf(new Map([[database, file]]));
}

describe('an image with several names', () => {
  const other = `sha256:${'a'.repeat(64)}`;

  it('is listed once, by its tag, where the runtime also recorded its digest and its config', async () => {
    const tree = databaseOf({
      'registry.example.com/hello:1.0': digest,
      [`registry.example.com/hello@${digest}`]: digest,
      [other]: digest,
    });
    const images = await readContainerImages(tree, root);
    expect(images.map(({ name }) => name)).toEqual(['registry.example.com/hello:1.0']);
  });

  it('is listed by each of its tags, and by its digest if it has no tag', async () => {
    const tree = databaseOf({
      'registry.example.com/hello:1': digest,
      'registry.example.com/hello:1.0': digest,
      [`registry.example.com/untagged@${other}`]: other,
      [`sha256:${'b'.repeat(64)}`]: other,
    });
    const images = await readContainerImages(tree, root);
    expect(images.map(({ name }) => name)).toEqual([
      'registry.example.com/hello:1',
      'registry.example.com/hello:1.0',
      `registry.example.com/untagged@${other}`,
    ]);
  });
});

it("containerd's own setting says where its store is", async () => {
  const config = (text: string) => treeOf(new Map([['/etc/containerd/config.toml', Buffer.from(text)]]));
  expect(await containerdRoot(treeOf(new Map()))).toBe(root);
  expect(await containerdRoot(config('version = 2\nroot = "/data/ctd"\n[plugins]\nroot = "/no"\n'))).toBe(
    '/data/ctd',
  );
  expect(await containerdRoot(config('version = 2\n[plugins]\n  root = "/no"\n'))).toBe(root);
});
