import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ChunkCatalogue } from './chunk-index.ts';
import { PackTable } from './pack-format.ts';

function hashOf(number: number): Buffer {
  return createHash('sha256').update(String(number)).digest();
}

const stored = { digest: `sha256:${'0'.repeat(64)}`, size: 1, chunks: 0, frames: 0, table: '' } as const;

describe('the catalogue of chunks', () => {
  test('finds every chunk of many, and none that it does not have', () => {
    const catalogue = new ChunkCatalogue();
    const pack = catalogue.startPack();
    for (let number = 0; number < 20_000; number += 1) catalogue.add(pack, hashOf(number), 0, number + 1);
    for (let number = 0; number < 20_000; number += 1) {
      expect(catalogue.find(hashOf(number), 0)).toEqual({ pack: 0, index: number });
    }
    expect(catalogue.find(hashOf(20_000), 0)).toBeUndefined();
  });

  test('chunks whose hashes begin alike are told apart', () => {
    const catalogue = new ChunkCatalogue();
    const pack = catalogue.startPack();
    const one = Buffer.concat([Buffer.alloc(31), Buffer.from([1])]);
    const two = Buffer.concat([Buffer.alloc(31), Buffer.from([2])]);
    catalogue.add(pack, one, 0, 1);
    expect(catalogue.find(two, 0)).toBeUndefined();
    catalogue.add(pack, two, 0, 1);
    expect(catalogue.find(two, 0)).toEqual({ pack: 0, index: 1 });
  });

  test('a chunk in two packs is found in the first', () => {
    const catalogue = new ChunkCatalogue();
    for (let copy = 0; copy < 2; copy += 1) {
      const table = new PackTable();
      table.add(hashOf(7), 100);
      catalogue.addStored(table, stored);
    }
    expect(catalogue.find(hashOf(7), 0)).toEqual({ pack: 0, index: 0 });
  });

  test('past its limit it stops growing, and forgets tables that are of no use', () => {
    const catalogue = new ChunkCatalogue(10);
    const first = catalogue.startPack();
    for (let number = 0; number < 12; number += 1) catalogue.add(first, hashOf(number), 0, 1);
    expect(catalogue.full).toBe(true);
    expect(catalogue.find(hashOf(9), 0)).toBeDefined();
    expect(catalogue.find(hashOf(10), 0)).toBeUndefined();
    const second = catalogue.startPack();
    catalogue.add(second, hashOf(100), 0, 1);
    catalogue.finishPack(second, stored);
    catalogue.finishPack(first, stored);
    expect(second.table.count).toBe(0);
    expect(first.table.count).toBe(12);
  });
});
