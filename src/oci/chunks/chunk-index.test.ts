import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ChunkIndex } from './chunk-index.ts';
import { PackTable } from './pack-format.ts';

function hashOf(number: number): Buffer {
  return createHash('sha256').update(String(number)).digest();
}

const stored = { digest: `sha256:${'0'.repeat(64)}`, size: 1, chunks: 0, frames: 0, table: '' } as const;

describe('the chunkIndex of chunks', () => {
  test('finds every chunk of many, and none that it does not have', () => {
    const chunkIndex = new ChunkIndex();
    const pack = chunkIndex.startPack();
    for (let number = 0; number < 20_000; number += 1) chunkIndex.add(pack, hashOf(number), 0, number + 1);
    for (let number = 0; number < 20_000; number += 1) {
      expect(chunkIndex.find(hashOf(number), 0)).toEqual({ pack: 0, index: number });
    }
    expect(chunkIndex.find(hashOf(20_000), 0)).toBeUndefined();
  });

  test('chunks whose hashes begin alike are distinguished', () => {
    const chunkIndex = new ChunkIndex();
    const pack = chunkIndex.startPack();
    const one = Buffer.concat([Buffer.alloc(31), Buffer.from([1])]);
    const two = Buffer.concat([Buffer.alloc(31), Buffer.from([2])]);
    chunkIndex.add(pack, one, 0, 1);
    expect(chunkIndex.find(two, 0)).toBeUndefined();
    chunkIndex.add(pack, two, 0, 1);
    expect(chunkIndex.find(two, 0)).toEqual({ pack: 0, index: 1 });
  });

  test('a chunk in two packs is found in the first', () => {
    const chunkIndex = new ChunkIndex();
    for (let copy = 0; copy < 2; copy += 1) {
      const table = new PackTable();
      table.add(hashOf(7), 100);
      chunkIndex.addStored(table, stored);
    }
    expect(chunkIndex.find(hashOf(7), 0)).toEqual({ pack: 0, index: 0 });
  });

  test('past its limit it stops growing, and forgets tables that are of no use', () => {
    const chunkIndex = new ChunkIndex(10);
    const first = chunkIndex.startPack();
    for (let number = 0; number < 12; number += 1) chunkIndex.add(first, hashOf(number), 0, 1);
    expect(chunkIndex.full).toBe(true);
    expect(chunkIndex.find(hashOf(9), 0)).toBeDefined();
    expect(chunkIndex.find(hashOf(10), 0)).toBeUndefined();
    const second = chunkIndex.startPack();
    chunkIndex.add(second, hashOf(100), 0, 1);
    chunkIndex.finishPack(second, stored);
    chunkIndex.finishPack(first, stored);
    expect(second.table.count).toBe(0);
    expect(first.table.count).toBe(12);
  });
});
