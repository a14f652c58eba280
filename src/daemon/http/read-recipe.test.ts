// Recipes are told what is wrong with file, line and column.
import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/errors.ts';
import { readRecipe } from './read-recipe.ts';

function errorOf(text: string): ImagoError {
  try {
    readRecipe(text, 'imago.yaml');
  } catch (error) {
    if (error instanceof ImagoError) return error;
    throw error;
  }
  throw new Error('nothing was wrong');
}

test('a good recipe is read, with what was left out filled in', () => {
  const recipe = readRecipe(
    'name: node\nkubernetes: 1.34.2\ncomponents:\n  - name: runc\n    version: 1.1.15\n',
  );
  expect(recipe).toEqual({
    name: 'node',
    numbering: 'semver',
    os: 'linux',
    architecture: 'x64',
    kubernetes: '1.34.2',
    components: [{ name: 'runc', kind: 'package', version: '1.1.15' }],
    settings: {},
  });
});

test.each([
  ['name: node\nname: other\n', 'recipe-syntax', /^imago\.yaml:2:1: Map keys must be unique/],
  ['name: [node\n', 'recipe-syntax', /^imago\.yaml:\d+:\d+: /],
  ['name: node\n---\nname: other\n', 'recipe-syntax', /multiple documents/],
  ['', 'recipe-invalid', /^imago\.yaml:1:1: name is missing/],
  ['- a\n', 'recipe-invalid', /^imago\.yaml:1:1: the recipe must be an object/],
  [
    'name: node\ncomponents:\n  - name: runc\n    verson: 1.1.15\n',
    'recipe-invalid',
    /^imago\.yaml:4:5: components\.0\.verson is not known \(and 1 more\)/,
  ],
  ['name: node\nnumberng: date\n', 'recipe-invalid', /^imago\.yaml:2:1: numberng is not known/],
  [
    'name: node\nnumbering: dates\n',
    'recipe-invalid',
    /^imago\.yaml:2:1: numbering must be one of semver, date/,
  ],
  ['name: Node Image\n', 'recipe-invalid', /^imago\.yaml:1:1: name "Node Image" /],
])('%j', (text, code, message) => {
  const error = errorOf(text);
  expect(error.code).toBe(code);
  expect(error.message).toMatch(message);
});

test('a version that YAML takes for a number is told to be put in quotes', () => {
  expect(errorOf('name: node\nkubernetes: 1.34\n').hint).toBe('Put it in quotes: "1.34".');
});

test('a recipe that would grow without end when its aliases are followed is refused', () => {
  const levels = Array.from(
    { length: 12 },
    (_, n) => `  l${n + 1}: &l${n + 1} [${Array(10).fill(`*l${n}`).join(',')}]`,
  );
  const text = ['name: node', 'settings:', '  l0: &l0 [x, x]', ...levels].join('\n');
  expect(errorOf(text).code).toBe('recipe-syntax');
});

test('an unknown field is told with the nearest one', () => {
  expect(errorOf('name: node\nnumberng: date\n').hint).toBe('Did you mean `numbering`?');
});
