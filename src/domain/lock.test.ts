import { describe, expect, test } from 'vitest';
import { type LockedInput, lockText, makeLock } from './lock.ts';
import type { Recipe } from './recipe.ts';

const recipe: Recipe = {
  name: 'node',
  numbering: 'semver',
  os: 'linux',
  architecture: 'x64',
  components: [
    { name: 'runc', kind: 'package', version: '1.1.15' },
    { name: 'containerd', kind: 'package', version: '1.7.24' },
  ],
  settings: { sysctl: { 'net.ipv4.ip_forward': 1 } },
};

function input(name: string, version: string, more: Partial<LockedInput> = {}): LockedInput {
  return {
    kind: 'package',
    name,
    version,
    sha256: 'a'.repeat(64),
    sizeBytes: 10,
    source: `pool/${name}`,
    ...more,
  };
}

const inputs = [input('runc', '1.1.15'), input('containerd', '1.7.24'), input('libseccomp2', '2.6.0')];

test('the order in which inputs were found does not change the lock', () => {
  const text = lockText(makeLock(recipe, inputs));
  expect(lockText(makeLock(recipe, inputs.toReversed()))).toBe(text);
  expect(makeLock(recipe, inputs).inputs.map(({ name }) => name)).toEqual([
    'containerd',
    'libseccomp2',
    'runc',
  ]);
});

test('the order of a recipe’s settings does not, but that of its components does', () => {
  const text = lockText(makeLock({ ...recipe, settings: { a: 1, b: 2 } }, inputs));
  expect(lockText(makeLock({ ...recipe, settings: { b: 2, a: 1 } }, inputs))).toBe(text);
  const turned = { ...recipe, settings: { a: 1, b: 2 }, components: recipe.components.toReversed() };
  expect(lockText(makeLock(turned, inputs))).not.toBe(text);
});

test('any other byte of an input changes the lock', () => {
  const text = lockText(makeLock(recipe, inputs));
  for (const change of [{ sha256: 'b'.repeat(64) }, { sizeBytes: 11 }, { source: 'elsewhere' }]) {
    expect(
      lockText(makeLock(recipe, [...inputs.slice(0, 2), input('libseccomp2', '2.6.0', change)])),
    ).not.toBe(text);
  }
});

describe('a lock has everything resolved', () => {
  test.each<[string, readonly LockedInput[], RegExp]>([
    ['a component without an input', inputs.slice(1), /runc 1\.1\.15 was not resolved/],
    [
      'a component resolved to another version',
      [input('runc', '1.1.16'), ...inputs.slice(1)],
      /was not resolved/,
    ],
    ['an input given twice', [...inputs, input('runc', '1.1.15')], /was resolved twice/],
    ['an input without a sha256', [...inputs, input('x', '1', { sha256: '' })], /has no sha256/],
    ['an input without a size', [...inputs, input('x', '1', { sizeBytes: Number.NaN })], /has no size/],
  ])('%s is refused', (_, found, message) => {
    expect(() => makeLock(recipe, found)).toThrow(
      expect.objectContaining({ code: 'recipe-invalid', message: expect.stringMatching(message) }),
    );
  });

  test('a sha256 that differs from the recipe’s is refused, with both', () => {
    const fixed = {
      ...recipe,
      components: [{ name: 'runc', kind: 'package', version: '1.1.15', sha256: 'f'.repeat(64) }],
    } as const;
    expect(() => makeLock(fixed, inputs)).toThrow(/a{64}.*f{64}/);
  });
});
