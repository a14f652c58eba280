import { describe, expect, test } from 'vitest';
import { readImports } from './read-imports.ts';
import { readTokens } from './read-tokens.ts';

function read(source: string): string[] {
  return readImports(readTokens(source)).map(({ from, kind, line }) => `${line} ${kind} ${from}`);
}

describe('every way to import is found', () => {
  test.each([
    ["import './a.ts';", ['1 value ./a.ts']],
    ["import a from './a.ts';", ['1 value ./a.ts']],
    ['import a from "./a.ts"', ['1 value ./a.ts']],
    ["import * as a from './a.ts';", ['1 value ./a.ts']],
    ["import a, { b as c } from './a.ts';", ['1 value ./a.ts']],
    ["import { 'x y' as z } from './a.ts';", ['1 value ./a.ts']],
    ["import {\n  a,\n  b,\n} from './a.ts';", ['1 value ./a.ts']],
    ["import data from './a.json' with { type: 'json' };", ['1 value ./a.json']],
    ["import type { A } from './a.ts';", ['1 type ./a.ts']],
    ["import type A from './a.ts';", ['1 type ./a.ts']],
    ["import type * as A from './a.ts';", ['1 type ./a.ts']],
    ["import type from './a.ts';", ['1 value ./a.ts']],
    ["import { type A } from './a.ts';", ['1 value ./a.ts']],
    ["export { a } from './a.ts';", ['1 value ./a.ts']],
    ["export * from './a.ts';", ['1 value ./a.ts']],
    ["export * as a from './a.ts';", ['1 value ./a.ts']],
    ["export type { A } from './a.ts';", ['1 type ./a.ts']],
    ["export type * from './a.ts';", ['1 type ./a.ts']],
    ["const a = await import('./a.ts');", ['1 lazy ./a.ts']],
    ["const a = await import('./a.json', { with: { type: 'json' } });", ['1 lazy ./a.json']],
    ["type A = typeof import('./a.ts');", ['1 type ./a.ts']],
    ['await import(name);', ['1 lazy undefined']],
    ["await import('./' + name);", ['1 lazy undefined']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source under test has a template
    ['await import(`./${name}.ts`);', ['1 lazy undefined']],
    ["const a = require('a');", ['1 value a']],
    ["const a = 1;\n\nimport { b } from './b.ts';", ['3 value ./b.ts']],
  ])('%j', (source, found) => {
    expect(read(source)).toEqual(found);
  });
});

describe('what only looks like one is not', () => {
  test.each([
    "// import './a.ts';",
    "/* import './a.ts';\n import './b.ts'; */",
    'const text = "import \'./a.ts\'";',
    "const text = `\nimport './a.ts';\n`;",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source under test has a template
    "const text = `${a}import './a.ts'`;",
    "const pattern = /import '\\/[/]a'/;",
    'const quote = /\'/; const other = /"/;',
    'const url = import.meta.url;',
    "loader.import('./a.ts');",
    "loader.require('./a.ts');",
    'async function require(id: string) { return find(id); }',
    'const record = await require(id);',
    "export const from = './a.ts';",
    "export { a };\nconst from = 'a';",
    "export function from() { return './a.ts'; }",
    "const half = a / b; const c = './a.ts'; const d = e / f;",
  ])('%j', (source) => {
    expect(read(source)).toEqual([]);
  });
});

describe('what stands before does not hide it', () => {
  test.each([
    "const quote = /'/;\nimport './a.ts';",
    "const slash = /[/']/g;\nimport './a.ts';",
    "const apostrophe = 'it\\'s';\nimport './a.ts';",
    "const ratio = (a + b) / 2; // it's\nimport './a.ts';",
    "const index = a[0] / 2; const x = 1 / 2;\nimport './a.ts';",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source under test has a template
    "const text = `a ${b ? `c ${'`'} d` : { e: '}' }.e} '`;\nimport './a.ts';",
    "const text = `\\`'`;\nimport './a.ts';",
    "const type: Array<'a'> = [];\nimport './a.ts';",
  ])('%j', (source) => {
    expect(read(source)).toEqual(['2 value ./a.ts']);
  });
});

test('an import inside a template’s expression is found', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the source under test has a template
  expect(read("const text = `a ${(await import('./a.ts')).b} c`;")).toEqual(['1 lazy ./a.ts']);
});

test('a file that ends in the middle of something is read to its end', () => {
  for (const source of [
    "import { a } from '",
    '/* open',
    '`open',
    'const a = /open',
    'import',
    'export {',
    'import(',
  ]) {
    expect(() => read(source)).not.toThrow();
  }
});
