import { expect, it } from 'vitest';
import { type BoltBucket, boltFile } from '../../build/containers/bolt-file.ts';
import type { Ext4Entry } from '../../disk/ext4/reader.ts';
import { findWritableLayers } from './writable-layers.ts';

const folder = '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs';

const bucket = (entries: Readonly<Record<string, Buffer | BoltBucket>>): BoltBucket => ({
  entries: new Map(Object.entries(entries)),
});

const snapshot = (kind: number, ...id: number[]) =>
  bucket({ id: Buffer.from(id), kind: Buffer.from([kind]) });

function find(database: Buffer | undefined): Promise<readonly string[]> {
  return findWritableLayers({
    find: async (path) =>
      path === `${folder}/metadata.db` && database !== undefined
        ? ({ path, type: 'file' } as Ext4Entry)
        : undefined,
    read: async () => database ?? Buffer.alloc(0),
  });
}

it('only active snapshots are writable', async () => {
  const snapshots = bucket({
    'k8s.io/1/sha256:layer': snapshot(3, 1),
    'k8s.io/2/container': snapshot(2, 2),
    'k8s.io/300/sandbox': snapshot(2, 0xac, 0x02),
    'k8s.io/4/view': snapshot(1, 4),
  });
  expect(await find(boltFile(bucket({ v1: bucket({ snapshots }) })))).toEqual([
    `${folder}/snapshots/2/fs`,
    `${folder}/snapshots/2/work`,
    `${folder}/snapshots/300/fs`,
    `${folder}/snapshots/300/work`,
  ]);
});

it('a disk without containerd has none', async () => {
  expect(await find(undefined)).toEqual([]);
});

it('a damaged database is refused', async () => {
  const snapshots = bucket({ 'k8s.io/2/container': snapshot(2, 0x80) });
  await expect(find(boltFile(bucket({ v1: bucket({ snapshots }) })))).rejects.toMatchObject({
    code: 'inventory-invalid',
  });
  await expect(find(Buffer.alloc(100))).rejects.toMatchObject({ code: 'inventory-invalid' });
});
