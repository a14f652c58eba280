// The page of built-in checks, from the checks themselves.
import { builtInChecks } from '../src/operations/test-checks.ts';

export function checksPage(): string {
  return [
    '# The built-in checks of an image',
    '',
    '`imago test` runs these, and the tests of the recipe, on the sealed disk and on machines started from it. A version becomes available only when every one passed. How to read and extend them: [Test an image](how-to/test-an-image.md).',
    '',
    '| check | what is so | if not |',
    '|---|---|---|',
    ...builtInChecks.map(({ id, title, remedy }) => `| \`${id}\` | ${title} | ${remedy} |`),
    '',
  ].join('\n');
}
