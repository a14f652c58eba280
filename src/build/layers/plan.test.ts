import { describe, expect, test } from 'vitest';
import { sampleInput, sampleLock } from '../../../test/support/inventory.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { recipeSchema } from '../../domain/recipe/schema.ts';
import { planLayers } from './plan.ts';

const component = {
  name: 'tool',
  version: '1',
  from: { url: 'https://tools.example/tool' },
  to: '/opt/tool',
};
const image = { name: 'example.com/pause:3.10' };
const lock = sampleLock({ components: [component], images: [image], base: { suite: 'trixie' } }, [
  sampleInput('binary', 'tool', { version: '1' }),
  sampleInput('container-image', image.name, { version: '3.10' }),
]);

function changedLayers(change: Lock): string[] {
  const before = new Map(planLayers(lock).map(({ name, key }) => [name, key]));
  return planLayers(change).flatMap(({ name, key }) => (before.get(name) === key ? [] : [name]));
}

/** The lock with a recipe that the types of today do not know. */
function withRecipe(recipe: object): Lock {
  return { ...lock, recipe: { ...lock.recipe, ...recipe } };
}

describe('a field that is new in recipes', () => {
  const field = { brandNew: 'yes' };

  test.each([
    ['of the recipe', field, 'configuration'],
    ['of the base system', { base: { suite: 'trixie', ...field } }, 'base'],
    ['of the settings', { settings: field }, 'configuration'],
    ['of a component', { components: [{ ...component, ...field }] }, 'component tool'],
    [
      'of a source',
      { components: [{ ...component, from: { ...component.from, ...field } }] },
      'component tool',
    ],
    ['of a container image', { images: [{ ...image, ...field }] }, 'images'],
  ])('%s changes the key of the layer that it belongs to', (_, recipe, layer) => {
    expect(changedLayers(withRecipe(recipe))).toContain(layer);
  });

  test('reaches the recipe from the schema alone, and from there the key', () => {
    const extended = recipeSchema.extend({ brandNew: recipeSchema.shape.notes });
    const { $schema: _, extends: __, ...recipe } = extended.parse({ ...lock.recipe, ...field });
    expect(changedLayers(withRecipe(recipe))).toEqual(['configuration']);
  });
});

test('what puts nothing on the disk changes no key', () => {
  const silent = { notes: 'new', tests: [{ name: 'true', run: 'true' }], support: { until: '2030-01-01' } };
  expect(changedLayers(withRecipe(silent))).toEqual([]);
});
