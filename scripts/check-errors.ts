// Lists the codes of the error catalog that nothing in src can return: dead entries in docs/errors.md.
//   node scripts/check-errors.ts
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { errorCatalog } from '../src/domain/error/catalog.ts';
import { sourceFiles } from './check-layers.ts';

const catalogFile = 'src/domain/error/catalog.ts';

/**
 * The codes that occur in no source but the catalog. A code of one word is also an ordinary word (`cancelled` is
 * a state too), so only its use as the first argument of a call is evidence.
 */
export function unusedCodes(codes: readonly string[], sources: Iterable<string>): readonly string[] {
  const unused = new Set(codes);
  for (const source of sources) {
    const code = source.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
    for (const [, opening, text = ''] of code.matchAll(/(\(?)['"]([a-z0-9-]+)['"]/g)) {
      if (text.includes('-') || opening !== '') unused.delete(text);
    }
  }
  return [...unused];
}

function run(root: string): number {
  const files = sourceFiles(root).filter((file) => file !== catalogFile);
  const codes = Object.keys(errorCatalog);
  const unused = unusedCodes(
    codes,
    files.map((file) => readFileSync(path.join(root, file), 'utf8')),
  );
  for (const code of unused) console.log(`${catalogFile}: nothing returns ${code}`);
  console.log(`${codes.length} codes, ${unused.length} unused.`);
  return unused.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = run(path.join(import.meta.dirname, '..'));
