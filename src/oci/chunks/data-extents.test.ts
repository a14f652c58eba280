import { describe, expect, test } from 'vitest';
import { extentsToRead } from './data-extents.ts';

const mebibyte = 1024 * 1024;

describe('extents to read', () => {
  test('the whole disk when nothing is known of it', () => {
    expect(extentsToRead(undefined, 1000)).toEqual([{ offset: 0, length: 1000 }]);
    expect(extentsToRead(undefined, 0)).toEqual([]);
  });

  test('are widened to whole blocks, up to the end of the disk', () => {
    expect(extentsToRead([{ offset: 5000, length: 10 }], mebibyte)).toEqual([{ offset: 4096, length: 4096 }]);
    expect(extentsToRead([{ offset: 8192, length: 100 }], 8300)).toEqual([{ offset: 8192, length: 108 }]);
  });

  test('are joined over gaps that cost more to skip than to read', () => {
    const given = [
      { offset: 0, length: 4096 },
      { offset: 8192, length: 4096 },
      { offset: mebibyte, length: 4096 },
    ];
    expect(extentsToRead(given, 2 * mebibyte)).toEqual([
      { offset: 0, length: 12288 },
      { offset: mebibyte, length: 4096 },
    ]);
  });

  test.each([
    [
      'out of order',
      [
        { offset: 8192, length: 10 },
        { offset: 0, length: 10 },
      ],
    ],
    [
      'overlapping',
      [
        { offset: 0, length: 10 },
        { offset: 5, length: 10 },
      ],
    ],
    ['off the disk', [{ offset: 0, length: 2 * mebibyte }]],
    ['negative', [{ offset: 10, length: -5 }]],
    ['not a number', [{ offset: Number.NaN, length: 1 }]],
  ])('%s: refused', (_, extents) => {
    expect(() => extentsToRead(extents, mebibyte)).toThrow(/out of order or off the disk/);
  });
});
