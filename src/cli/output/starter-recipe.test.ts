import { expect, test } from 'vitest';
import { packageFile } from '../../launcher/package.ts';
import { schemaLine } from './starter-recipe.ts';

test.each([
  ['/team/node_modules/imago/docs/s.json', '/team/imago.yaml', 'node_modules/imago/docs/s.json'],
  [
    '/team/node_modules/imago/docs/s.json',
    '/team/images/a/imago.yaml',
    '../../node_modules/imago/docs/s.json',
  ],
  ['/usr/lib/node_modules/imago/docs/s.json', '/team/imago.yaml', '/usr/lib/node_modules/imago/docs/s.json'],
  ['/team/node_modules/imago/docs/s.json', '/team-b/imago.yaml', '/team/node_modules/imago/docs/s.json'],
  ['/opt/imago/docs/s.json', '/opt/imago/imago.yaml', '/opt/imago/docs/s.json'],
])('an editor finds %s from %s', (schema, recipe, path) => {
  expect(schemaLine(schema, recipe)).toBe(`# yaml-language-server: $schema=${path}\n`);
});

test('the schema is where the line would point', () => {
  expect(packageFile('docs/recipe.schema.json')).toMatch(/\/docs\/recipe\.schema\.json$/);
  expect(packageFile('docs/no-such-file')).toBeUndefined();
});
