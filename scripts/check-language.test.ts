import { expect, test } from 'vitest';
import { findPhrases } from './check-language.ts';

function found(file: string, source: string): readonly string[] {
  return findPhrases(file, source).map(({ line, found }) => `${line}: ${found}`);
}

test('comments, texts of several words and documents are checked', () => {
  expect(found('a.ts', '// is made anew\nconst text = "two at once";\n/** Kept\n * for ever. */')).toEqual([
    '1: anew',
    '2: at once',
    '4: for ever',
  ]);
  expect(found('a.md', 'First\nit is kept for ever.')).toEqual(['2: for ever']);
});

test('code, code spans, single words and link targets are not checked', () => {
  expect(
    found('a.ts', "const anew = nobody('told');\n// the field `told`\nrun('told', 'a `told` field');"),
  ).toEqual([]);
  expect(found('a.md', 'The field `told` and [it](catalogue.md).\n\n```sh\nwhoever\n```')).toEqual([]);
});

test('a line with a reason is skipped', () => {
  expect(found('a.ts', '// the user nobody // lang-ok: name of a system user')).toEqual([]);
  expect(found('a.ts', '// lang-ok: anew')).toEqual([]);
  expect(found('a.ts', '// made anew')).toEqual(['1: anew']);
});
