import { describe, expect, test } from 'vitest';
import { checkRecipe, type Recipe, type RecipeComponent, recipeProblems } from './recipe.ts';

const kubelet: RecipeComponent = {
  name: 'kubelet',
  kind: 'binary',
  version: '1.34.2',
  source: 'kubelet.bin',
  sha256: 'a'.repeat(64),
  destination: '/usr/bin/kubelet',
};
const good: Recipe = {
  name: 'node',
  numbering: 'kubernetes',
  os: 'linux',
  architecture: 'x64',
  kubernetes: '1.34.2',
  components: [kubelet, { name: 'containerd', kind: 'package', version: '1.7.24' }],
  settings: {},
};

function problems(change: Partial<Recipe>): string[] {
  return recipeProblems({ ...good, ...change }).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function withComponents(...components: Partial<RecipeComponent>[]): string[] {
  return problems({ components: components.map((component) => ({ ...kubelet, ...component })) });
}

test('a good recipe has no problems', () => {
  expect(recipeProblems(good)).toEqual([]);
  expect(() => checkRecipe(good)).not.toThrow();
});

test('the first problem is the message, and all are told', () => {
  expect(() => checkRecipe({ ...good, name: 'Node', kubernetes: '1.34' })).toThrow(
    expect.objectContaining({
      code: 'recipe-invalid',
      message: expect.stringMatching(/^name: .*\(and 1 more\)$/),
      details: {
        problems: [
          expect.objectContaining({ path: ['name'] }),
          expect.objectContaining({ path: ['kubernetes'] }),
        ],
      },
    }),
  );
});

describe('Kubernetes', () => {
  test('is needed by the policies that number after it', () => {
    const { kubernetes: _, ...without } = good;
    expect(recipeProblems(without)).toHaveLength(1);
    expect(recipeProblems({ ...without, numbering: 'calendar' })).toEqual([]);
  });

  test('is a released version', () => {
    expect(recipeProblems({ ...good, kubernetes: '1.34' })[0]?.hint).toBe('Did you mean `1.34.0`?');
    expect(problems({ kubernetes: 'newest' })).toHaveLength(1);
  });
});

describe('two components on one path', () => {
  test.each([
    ['the same path', {}, {}],
    ['the same path with more slashes', {}, { destination: '/usr//bin/kubelet/' }],
    ['a path below a binary', {}, { destination: '/usr/bin/kubelet/config' }],
    ['a binary on the way to another', { destination: '/opt/x/y' }, { destination: '/opt/x' }],
  ])('%s', (_, first, second) => {
    expect(withComponents(first, { name: 'other', ...second })).toEqual([
      expect.stringMatching(/^components\.1\.destination: other and kubelet would stand on one path/),
    ]);
  });

  test('trees may lie inside each other, and a binary inside a tree', () => {
    const tree = { name: 'cni', kind: 'files', destination: '/opt/cni' } as const;
    expect(withComponents(tree, { name: 'more', kind: 'files', destination: '/opt/cni/bin' })).toEqual([]);
    expect(withComponents(tree, { destination: '/opt/cni/bin/kubelet' })).toEqual([]);
  });

  test('names that only begin alike are two paths', () => {
    expect(withComponents({}, { name: 'other', destination: '/usr/bin/kubelet-1.35' })).toEqual([]);
  });

  test('on Windows case and the kind of slash do not count', () => {
    const change = {
      os: 'windows' as const,
      components: [
        { ...kubelet, destination: 'C:\\k\\kubelet.exe' },
        { ...kubelet, name: 'other', destination: 'c:/K/Kubelet.exe' },
      ],
    };
    expect(problems(change)).toHaveLength(1);
  });
});

describe('destinations stay where they say', () => {
  test.each(['usr/bin/x', '/usr/../etc/x', '/./x', '/', '//', '/a\nb', '', 'C:\\x'])(
    '%j is refused',
    (destination) => {
      expect(withComponents({ destination })).toHaveLength(1);
    },
  );

  test.each(['/x', '\\x', 'C:', 'C:\\', 'C:\\a\\..\\b'])('%j is refused on Windows', (destination) => {
    expect(problems({ os: 'windows', components: [{ ...kubelet, destination }] })).toHaveLength(1);
  });
});

describe('components say what they are', () => {
  test.each<[string, Partial<RecipeComponent>]>([
    ['an empty version, which a missing variable leaves behind', { version: '' }],
    ['a version of spaces', { version: '  ' }],
    ['an empty name', { name: '' }],
    ['an empty source', { source: '' }],
    ['a sha256 that is cut short', { sha256: 'abc' }],
    ['a sha256 in upper case', { sha256: 'A'.repeat(64) }],
    ['a destination for a package', { kind: 'package' }],
  ])('%s is refused', (_, change) => {
    expect(withComponents(change)).toHaveLength(1);
  });

  test('a binary needs a source and a destination', () => {
    expect(problems({ components: [{ name: 'x', kind: 'binary', version: '1' }] })).toEqual([
      'components.0.source: x: a component of kind binary needs a source',
      'components.0.destination: x: a component of kind binary needs a destination',
    ]);
  });

  test('twice the same is refused, two versions side by side are not', () => {
    const containerd: RecipeComponent = { name: 'containerd', kind: 'container-image', version: '1' };
    expect(problems({ components: [containerd, containerd] })).toEqual([
      'components.1: the container-image containerd 1 is listed twice',
    ]);
    expect(problems({ components: [containerd, { ...containerd, version: '2' }] })).toEqual([]);
  });
});
