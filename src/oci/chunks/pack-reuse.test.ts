import { describe, expect, test } from 'vitest';
import { maxPacks, packsToRewrite, packTarget } from './pack-reuse.ts';

const mebibyte = 1024 * 1024;

describe('which packs a new version goes on using', () => {
  test('packs that are at least half used stay', () => {
    const uses = [
      { pack: 0, payload: 100, used: 100 },
      { pack: 1, payload: 100, used: 50 },
    ];
    expect(packsToRewrite(uses, 0, 0)).toEqual(new Set());
  });

  test('packs that are less than half used are rewritten', () => {
    const uses = [
      { pack: 0, payload: 100, used: 100 },
      { pack: 1, payload: 100, used: 49 },
      { pack: 2, payload: 100, used: 1 },
    ];
    expect(packsToRewrite(uses, 10, 1)).toEqual(new Set([1, 2]));
  });

  test('a waste that hardly counts is left, so that a small change stays small', () => {
    const whole = Array.from({ length: 20 }, (_, pack) => ({ pack, payload: 100, used: 100 }));
    const uses = [...whole, { pack: 20, payload: 100, used: 40 }];
    expect(packsToRewrite(uses, 10, 1)).toEqual(new Set());
  });

  test('what is rewritten is never more than what would be wasted', () => {
    const uses = Array.from({ length: 50 }, (_, pack) => ({ pack, payload: 1000, used: pack * 20 }));
    const left = packsToRewrite(uses, 0, 0);
    const rewritten = uses.filter((use) => left.has(use.pack));
    const copied = rewritten.reduce((sum, use) => sum + use.used, 0);
    const wasted = rewritten.reduce((sum, use) => sum + use.payload - use.used, 0);
    expect(left.size).toBeGreaterThan(0);
    expect(copied).toBeLessThan(wasted);
  });

  test('a version made of very many small packs has the smallest joined', () => {
    const uses = Array.from({ length: maxPacks + 10 }, (_, pack) => ({
      pack,
      payload: pack + 1,
      used: pack + 1,
    }));
    const left = packsToRewrite(uses, 5, 1);
    expect(uses.length - left.size).toBeLessThanOrEqual(192);
    expect(left.has(0)).toBe(true);
    expect(left.has(maxPacks + 9)).toBe(false);
  });

  test('large packs are never rewritten only because there are many', () => {
    const uses = Array.from({ length: maxPacks * 2 }, (_, pack) => ({
      pack,
      payload: 100 * mebibyte,
      used: 100 * mebibyte,
    }));
    expect(packsToRewrite(uses, 0, 0).size).toBe(0);
  });

  test('a disk of a TiB has a few hundred packs', () => {
    let packs = 0;
    for (let stored = 0; stored < 1024 ** 4; stored += packTarget(packs++));
    expect(packs).toBeLessThan(500);
    expect(packTarget(0)).toBe(32 * mebibyte);
  });
});
