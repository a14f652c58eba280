// Lists the codes of the error catalogue that nothing in src can answer with: dead pages in docs/errors.md.
//   node scripts/check-errors.ts
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCatalogue } from '../src/domain/error/catalog.ts';
import { typescriptFiles } from './check-layers.ts';
import { readTokens } from './read-tokens.ts';

const catalogueFile = 'src/domain/error/catalog.ts';

/**
 * The codes that stand in no source but the catalogue. A code of one word is also an ordinary word (`cancelled` is
 * a state too), so it counts only as the first argument of a call.
 */
export function unusedCodes(codes: readonly string[], sources: Iterable<string>): readonly string[] {
  const unused = new Set(codes);
  for (const source of sources) {
    const tokens = readTokens(source);
    for (const [index, token] of tokens.entries()) {
      if (token.kind !== 'string') continue;
      if (token.text.includes('-') || tokens[index - 1]?.text === '(') unused.delete(token.text);
    }
  }
  return [...unused];
}

function run(root: string): number {
  const files = typescriptFiles(root, 'src').filter(
    (file) => file !== catalogueFile && !file.endsWith('.test.ts'),
  );
  const codes = Object.keys(errorCatalogue);
  const unused = unusedCodes(
    codes,
    files.map((file) => readFileSync(path.join(root, file), 'utf8')),
  );
  for (const code of unused) console.log(`${catalogueFile}: nothing answers with ${code}`);
  console.log(`${codes.length} codes, ${unused.length} unused.`);
  return unused.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = run(path.join(import.meta.dirname, '..'));
