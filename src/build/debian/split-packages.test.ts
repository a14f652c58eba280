import { expect, test } from 'vitest';
import { type PackageRecord, readRecords } from './package-record.ts';
import { splitPackages } from './split-packages.ts';

function packages(...lines: string[]): readonly PackageRecord[] {
  return readRecords(
    lines
      .map((line) => {
        const [name, depends, provides] = line.split(';');
        return `Package: ${name}\nVersion: 1\nDepends: ${depends ?? ''}\nProvides: ${provides ?? ''}`;
      })
      .join('\n\n'),
  );
}

test('each name has a layer, with what it needs and no earlier one has', () => {
  const found = packages('a;lib (>= 1), common', 'b;common, only-b:any', 'lib', 'common', 'only-b');
  expect(Object.fromEntries(splitPackages(['a', 'b'], found))).toEqual({
    a: 0,
    lib: 0,
    common: 0,
    b: 1,
    'only-b': 1,
  });
});

test('what is added at the end leaves the layers before as they are', () => {
  const before = packages('a;lib', 'lib');
  const after = packages('a;lib', 'lib', 'jq;libjq', 'libjq;lib');
  const [first, second] = [splitPackages(['a'], before), splitPackages(['a', 'jq'], after)];
  for (const [name, layer] of first) expect(second.get(name)).toBe(layer);
  expect(second.get('libjq')).toBe(1);
});

test('alternatives and virtual packages are followed', () => {
  const found = packages('kernel;dracut | initrd-tool', 'initramfs;;initrd-tool', 'other');
  expect(splitPackages(['kernel', 'other'], found).get('initramfs')).toBe(0);
});

test('a name that the base brings already makes no empty layer, and nothing is left out', () => {
  const found = packages('b', 'stray');
  expect(Object.fromEntries(splitPackages(['in-base', 'b'], found))).toEqual({ b: 0, stray: 0 });
});

test('from the ninth on names share layers', () => {
  const names = Array.from({ length: 20 }, (_, index) => `p${String(index).padStart(2, '0')}`);
  const layers = splitPackages(names, packages(...names));
  expect(names.map((name) => layers.get(name))).toEqual([
    ...[0, 1, 2, 3, 4, 5, 6, 7],
    ...Array(8).fill(8),
    ...Array(4).fill(9),
  ]);
});

test('packages that need each other stay together', () => {
  const found = packages('a;b', 'b;a');
  expect(Object.fromEntries(splitPackages(['a', 'b'], found))).toEqual({ a: 0, b: 0 });
});
