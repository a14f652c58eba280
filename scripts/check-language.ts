// Checks that texts use plain words: comments, strings of several words, and hand-written documents contain none of the
// phrases in scripts/language.json. A line with `lang-ok: reason` is skipped, and so is code in backticks.
//   node scripts/check-language.ts [--all] [PATH…]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import language from './language.json' with { type: 'json' };

interface Finding {
  readonly line: number;
  readonly found: string;
  readonly write: string;
}

const phrases = Object.entries(language.phrases).map(([phrase, write]) => ({
  pattern: new RegExp(phrase, 'gi'),
  write,
}));

const comment = String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`;
const text = String.raw`'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|${'`'}(?:\\.|[^${'`'}\\])*${'`'}`;
const parts = new RegExp(`${comment}|${text}`, 'g');

/** The phrases in a source file's comments and texts, or anywhere in a document. */
export function findPhrases(file: string, source: string): readonly Finding[] {
  const readable = file.endsWith('.md') ? withoutCode(source) : textsOf(source);
  const lines = source.split('\n');
  return readable.split('\n').flatMap((line, index) => {
    if (/lang-ok: \S/.test(lines[index] ?? '')) return [];
    return phrases.flatMap(({ pattern, write }) =>
      [...line.matchAll(pattern)].map(([found]) => ({ line: index + 1, found, write })),
    );
  });
}

/** Everything but comments and texts of several words becomes blank, so that lines keep their numbers. */
function textsOf(source: string): string {
  let result = '';
  let end = 0;
  for (const match of source.matchAll(parts)) {
    const [part] = match;
    result += blank(source.slice(end, match.index));
    if (part.startsWith('/')) result += part.replaceAll(/`[^`\n]*`/g, blank);
    else result += part.includes(' ') ? part.slice(1, -1).replaceAll(/\\?`[^`\n]*`/g, blank) : blank(part);
    end = match.index + part.length;
  }
  return result;
}

function withoutCode(document: string): string {
  return document.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`|\]\([^)\n]*\)/gm, blank);
}

function blank(code: string): string {
  return code.replaceAll(/[^\n]/g, ' ');
}

function run(root: string, args: readonly string[]): number {
  const isExcused = (file: string) => language.excused.some((place) => file.startsWith(place));
  const named = args.filter((arg) => !arg.startsWith('--'));
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...named], {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 },
  });
  const files = listed
    .split('\n')
    .filter((file) => /\.(ts|md)$/.test(file) && existsSync(path.join(root, file)))
    .filter((file) => !language.generated.includes(file) && (args.includes('--all') || !isExcused(file)));
  let count = 0;
  for (const file of files) {
    for (const { line, found, write } of findPhrases(file, readFileSync(path.join(root, file), 'utf8'))) {
      console.log(`${file}:${line}: "${found}": write ${write}`);
      count += 1;
    }
  }
  console.log(`${files.length} files, ${count} phrases to replace.`);
  return count === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = run(path.join(import.meta.dirname, '..'), process.argv.slice(2));
