import { describe, expect, test } from 'vitest';
import type { Recipe } from '../recipe/recipe.ts';
import { inputChanges, valueChanges } from './changes.ts';
import {
  describeInput,
  type Lock,
  type LockedInput,
  lockText,
  makeLock,
  packageVersionFits,
} from './lock.ts';
import { whyVersion } from './reason.ts';

const recipe: Recipe = {
  name: 'node',
  numbering: 'semver',
  os: 'linux',
  architecture: 'x64',
  folder: '/home/somebody',
  components: [
    { name: 'runc', version: '1.1.15' },
    { name: 'containerd', version: '1.7.24' },
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
    source: `debian:pool/${name}`,
    sets: ['packages'],
    ...more,
  };
}

const inputs = [input('runc', '1.1.15+ds1-2'), input('containerd', '1.7.24'), input('libseccomp2', '2.6.0')];
const facts = { rules: 1, epoch: 0 };

function lock(change: Partial<Recipe> = {}, found = inputs): Lock {
  return makeLock({ ...recipe, ...change }, found, facts);
}

test('the order in which inputs were found does not change the lock', () => {
  const text = lockText(lock());
  expect(lockText(lock({}, inputs.toReversed()))).toBe(text);
  expect(lock().inputs.map(({ name }) => name)).toEqual(['containerd', 'libseccomp2', 'runc']);
});

test('the order of a recipe’s settings does not, but that of its components does', () => {
  const sysctl = { 'a.a': 1, 'b.b': 2 };
  const text = lockText(lock({ settings: { sysctl } }));
  expect(lockText(lock({ settings: { sysctl: { 'b.b': 2, 'a.a': 1 } } }))).toBe(text);
  expect(lockText(lock({ settings: { sysctl }, components: recipe.components.toReversed() }))).not.toBe(text);
});

test('where the recipe lies does not change the lock', () => {
  expect(lock().recipe).not.toHaveProperty('folder');
  expect(lockText(lock({ folder: '/elsewhere' }))).toBe(lockText(lock()));
});

test('any other byte of an input changes the lock', () => {
  const text = lockText(lock());
  for (const change of [{ sha256: 'b'.repeat(64) }, { sizeBytes: 11 }, { source: 'elsewhere' }]) {
    expect(lockText(lock({}, [...inputs.slice(0, 2), input('libseccomp2', '2.6.0', change)]))).not.toBe(text);
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
    ['an input given twice', [...inputs, input('libseccomp2', '2.6.0')], /was resolved twice/],
    ['an input without a sha256', [...inputs, input('x', '1', { sha256: '' })], /has no sha256/],
    ['an input without a size', [...inputs, input('x', '1', { sizeBytes: Number.NaN })], /has no size/],
  ])('%s is refused', (_, found, message) => {
    expect(() => lock({}, [...found])).toThrow(
      expect.objectContaining({ code: 'recipe-invalid', message: expect.stringMatching(message) }),
    );
  });

  test('a sha256 that differs from the recipe’s is refused, with both', () => {
    const url = `https://x/\${version}`;
    const components = [{ name: 'k', version: '1', from: { url, sha256: { 1: 'f'.repeat(64) } }, to: '/k' }];
    const found = [input('k', '1', { kind: 'binary' })];
    expect(() => lock({ components }, found)).toThrow(/a{64}.*f{64}/);
  });

  test('a private input is not named when something is wrong with it', () => {
    const found = [...inputs, input('secret', '1', { sha256: '', private: true })];
    expect(() => lock({}, found)).toThrow(/^A private package has no sha256/);
  });
});

test.each([
  ['1.7.24', '1.7.24~ds1-6+deb13u1', true],
  ['1.1.15', '1.1.15+ds1-2+b4', true],
  ['2.41', '2.41-12+deb13u4', true],
  ['2.41-12+deb13u4', '2.41-12+deb13u4', true],
  ['1.2.3', '2:1.2.3-1', true],
  ['1.7.2', '1.7.24~ds1-6', false],
  ['1.7', '1.7.24', false],
])('the wanted version %s against %s: %s', (wanted, version, fits) => {
  expect(packageVersionFits(wanted, version)).toBe(fits);
});

describe('what moved between two locks', () => {
  test('inputs by name', () => {
    const later = lock({}, [input('runc', '1.1.15-9'), ...inputs.slice(1, 2), input('jq', '1')]);
    expect(
      inputChanges(lock(), later).map(({ name, before, after }) => [
        name,
        before?.[0]?.version,
        after?.[0]?.version,
      ]),
    ).toEqual([
      ['jq', undefined, '1'],
      ['libseccomp2', '2.6.0', undefined],
      ['runc', '1.1.15+ds1-2', '1.1.15-9'],
    ]);
    expect(inputChanges(lock(), lock())).toEqual([]);
  });

  test('values by their place; named things by their name', () => {
    const before = { a: { b: 1 }, list: [{ name: 'x', v: 1 }, { name: 'y' }], plain: [1, 2] };
    const after = { a: { b: 2 }, list: [{ name: 'y' }, { name: 'x', v: 2 }], plain: [1, 3] };
    expect(valueChanges(before, after).map(({ path }) => path.join('.'))).toEqual([
      'a.b',
      'list.x.v',
      'plain',
    ]);
    expect(valueChanges({ list: ['a', 'b'] }, { list: ['b', 'a'] })).toEqual([
      { path: ['list', 'order'], before: ['a', 'b'], after: ['b', 'a'] },
    ]);
  });
});

describe('why a version is made', () => {
  const other = { sha256: 'b'.repeat(64) };
  test.each<[string, Lock, string | undefined, RegExp]>([
    ['nothing', lock(), undefined, /^Nothing changed/],
    [
      'a newer package',
      lock({}, [input('runc', '1.1.15-9', other), ...inputs.slice(1)]),
      'artifact',
      /needed/,
    ],
    ['a new dependency', lock({}, [...inputs, input('jq', '1')]), 'artifact', /needed/],
    [
      'a kernel parameter',
      lock({ settings: { sysctl: { 'net.ipv4.ip_forward': 0 } } }),
      'configuration',
      /differently/,
    ],
    [
      'a text of the configuration',
      lock({}, [...inputs, input('files/x', 'aa', { kind: 'config' })]),
      'configuration',
      /differently/,
    ],
    [
      'the same bytes from elsewhere',
      lock({}, [input('runc', '1.1.15+ds1-2', { source: 'https://x' }), ...inputs.slice(1)]),
      'delivery',
      /hotfix by node config may do/,
    ],
    [
      'a tool of the build',
      lock({}, [...inputs, input('e2fsprogs', '1', { sets: ['tools'] })]),
      'delivery',
      /hotfix/,
    ],
    ['new build rules', { ...lock(), rules: 2 }, 'delivery', /hotfix/],
    ['notes', lock({ notes: 'x' }), 'description', /nothing differs but the lock/],
  ])('%s', (_, after, reason, sentence) => {
    const why = whyVersion(lock(), after);
    expect(why.reason).toBe(reason);
    expect(why.sentence).toMatch(sentence);
    expect(why.changes.length > 0).toBe(reason !== undefined);
  });

  test('the strongest reason is told, with every change', () => {
    const after = lock({ notes: 'x', settings: {} }, [input('runc', '1.1.15-9', other), ...inputs.slice(1)]);
    expect(whyVersion(lock(), after)).toMatchObject({
      reason: 'artifact',
      changes: [
        { reason: 'artifact', sentence: 'runc 1.1.15+ds1-2 → 1.1.15-9' },
        { reason: 'configuration', sentence: 'settings.sysctl {"net.ipv4.ip_forward":1} → (nothing)' },
        { reason: 'description', sentence: 'notes (nothing) → "x"' },
      ],
    });
  });

  test('a component that moves on the disk is configuration, not an artifact', () => {
    const component = { name: 'k', version: '1', from: { url: 'https://x' }, to: '/a' };
    const found = [input('k', '1', { kind: 'binary' })];
    const moved = lock({ components: [{ ...component, to: '/b' }] }, found);
    expect(whyVersion(lock({ components: [component] }, found), moved)).toMatchObject({
      reason: 'configuration',
    });
  });

  test('the package that a private component is is not named', () => {
    const component = { name: 'secret', from: { package: 'hushpack' }, private: true as const };
    const of = (version: string) => lock({ components: [component] }, [input('hushpack', version)]);
    const { changes } = whyVersion(of('1'), of('2'));
    expect(changes.map(({ sentence }) => sentence)).toEqual(['a private input changed']);
  });

  test('private inputs are not named', () => {
    const component = {
      name: 'secret',
      version: '1',
      from: { url: 'https://x' },
      to: '/a',
      private: true,
    } as const;
    const found = [input('secret', '1', { kind: 'binary', private: true })];
    const text = JSON.stringify([
      whyVersion(lock({ components: [] }, []), lock({ components: [component] }, found)),
      whyVersion(
        lock({ components: [component] }, found),
        lock({ components: [{ ...component, to: '/b' }] }, found),
      ),
    ]);
    expect(text).not.toMatch(/secret|https/);
  });
});

test('an input is named in sentences once, with its version once', () => {
  const image = { kind: 'container-image', name: 'example.test/hello:404', version: '404' } as const;
  expect(describeInput(image)).toBe('The container-image example.test/hello:404');
  expect(describeInput({ kind: 'binary', name: 'kubelet', version: '1.34.2' })).toBe(
    'The binary kubelet 1.34.2',
  );
  expect(describeInput({ ...image, private: true })).toBe('A private container-image');
});
