import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Recipe } from './recipe.ts';
import { expandOne, expandRecipe, substitute } from './variables.ts';

const recipe: Recipe = {
  name: 'node',
  numbering: 'semver',
  os: 'linux',
  architecture: 'x64',
  kubernetes: '1.34.2',
  components: [
    {
      name: 'kubelet',
      version: `\${kubernetes}`,
      from: { url: `https://x/v\${version}/\${machine}/\${name}` },
      to: `/opt/\${architecture}/kubelet`,
      unit: { content: `ExecStart=/bin/sh -c 'echo \${HOME}'` },
    },
  ],
  settings: { files: [{ path: '/etc/x', content: `\${nothing}` }] },
};

describe('variables', () => {
  test('are written out in versions, sources and places, and nowhere else', () => {
    const [component] = expandOne(recipe).components;
    expect(component).toMatchObject({
      version: '1.34.2',
      from: { url: 'https://x/v1.34.2/amd64/kubelet' },
      to: '/opt/x64/kubelet',
      unit: { content: `ExecStart=/bin/sh -c 'echo \${HOME}'` },
    });
    expect(expandOne(recipe).settings).toEqual(recipe.settings);
  });

  test('that are unknown or cut short are problems', () => {
    const broken = { ...recipe, components: [{ name: 'a', version: '1', to: `/\${vesion}/\${open` }] };
    expect(expandRecipe(broken).problems.map(({ message }) => message)).toEqual([
      `\${vesion} is not a variable`,
      `\${open} is not a variable`,
    ]);
  });

  test('of Kubernetes need a version of it', () => {
    const { kubernetes: _, ...without } = recipe;
    expect(expandRecipe(without).problems[0]?.message).toMatch(/has no Kubernetes version/);
  });

  test('stay for versions side by side', () => {
    const { version: _, ...component } = recipe.components[0] ?? { name: '' };
    const several = { ...recipe, components: [{ ...component, versions: [`\${kubernetes}`, '1.33.0'] }] };
    expect(expandOne(several).components[0]).toMatchObject({
      versions: ['1.34.2', '1.33.0'],
      from: { url: `https://x/v\${version}/amd64/kubelet` },
    });
  });

  test('an escaped one is text, and text without any is itself', () => {
    expect(substitute(`$\${HOME}`, {})).toEqual({ text: `\${HOME}`, unknown: [] });
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes(`\${`));
        expect(substitute(text, {})).toEqual({ text, unknown: [] });
      }),
    );
  });
});

describe('a matrix', () => {
  test('gives one recipe for each version', () => {
    const { kubernetes: _, ...rest } = recipe;
    const { recipes } = expandRecipe({ ...rest, matrix: { kubernetes: ['1.34.2', '1.34.3'] } });
    expect(recipes.map(({ components }) => components[0]?.version)).toEqual(['1.34.2', '1.34.3']);
    expect(recipes.every((one) => one.matrix === undefined)).toBe(true);
  });

  test('has at least one version and none twice', () => {
    const { kubernetes: _, ...rest } = recipe;
    for (const kubernetes of [[], ['1.34.2', '1.34.2']]) {
      expect(expandRecipe({ ...rest, matrix: { kubernetes } }).problems).toHaveLength(1);
    }
    expect(() => expandOne({ ...rest, matrix: { kubernetes: ['1.1.1', '1.1.2'] } })).toThrow(
      /several Kubernetes/,
    );
  });
});
