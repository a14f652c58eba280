// What a TypeScript file imports: from where, on which line, and whether it is loaded when the file is.
import type { Token } from './read-tokens.ts';

export interface FoundImport {
  /** `undefined` for an `import()` of something else than a plain string. */
  readonly from: string | undefined;
  readonly line: number;
  /** `type`: gone at run time. `lazy`: loaded when it is called. `value`: loaded with the file. */
  readonly kind: 'type' | 'lazy' | 'value';
}

export function readImports(tokens: readonly Token[]): readonly FoundImport[] {
  const found: FoundImport[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'word' || isMark(tokens[index - 1], '.')) continue;
    const one = readOne(tokens, index);
    if (one !== undefined) found.push({ ...one, line: token.line });
  }
  return found;
}

type Read = Omit<FoundImport, 'line'> | undefined;

function readOne(tokens: readonly Token[], index: number): Read {
  switch (tokens[index]?.text) {
    case 'import':
      return isMark(tokens[index + 1], '(') ? readCall(tokens, index, 'lazy') : readStatement(tokens, index);
    case 'export':
      return readExport(tokens, index);
    // A module has no `require` of its own: with anything but a plain string it is a function of that name.
    case 'require': {
      const call = isMark(tokens[index + 1], '(') ? readCall(tokens, index, 'value') : undefined;
      return call?.from === undefined ? undefined : call;
    }
    default:
      return undefined;
  }
}

function readCall(tokens: readonly Token[], index: number, kind: 'lazy' | 'value'): Read {
  const argument = tokens[index + 2];
  const ends = isMark(tokens[index + 3], ')') || isMark(tokens[index + 3], ',');
  const from = argument?.kind === 'string' && ends ? argument.text : undefined;
  return { from, kind: isWord(tokens[index - 1], 'typeof') ? 'type' : kind };
}

function readStatement(tokens: readonly Token[], index: number): Read {
  const next = tokens[index + 1];
  if (next?.kind === 'string') return { from: next.text, kind: 'value' };
  if (isMark(next, '.') || isMark(next, ':')) return undefined;
  for (let at = index + 1; at < tokens.length && !isMark(tokens[at], ';'); at += 1) {
    const source = tokens[at + 1];
    if (!isWord(tokens[at], 'from') || source?.kind !== 'string') continue;
    return { from: source.text, kind: isTypeStatement(tokens, index) ? 'type' : 'value' };
  }
  return undefined;
}

/** `import type X`, `import type {…}`, `import type * as X`; but not `import type from`, which imports a `type`. */
function isTypeStatement(tokens: readonly Token[], index: number): boolean {
  if (!isWord(tokens[index + 1], 'type')) return false;
  const after = tokens[index + 2];
  if (isMark(after, '{') || isMark(after, '*')) return true;
  return after?.kind === 'word' && !(after.text === 'from' && tokens[index + 3]?.kind === 'string');
}

function readExport(tokens: readonly Token[], index: number): Read {
  const isType = isWord(tokens[index + 1], 'type');
  let at = index + (isType ? 2 : 1);
  if (isMark(tokens[at], '{')) {
    while (at < tokens.length && !isMark(tokens[at], '}')) at += 1;
    at += 1;
  } else if (isMark(tokens[at], '*')) {
    at += isWord(tokens[at + 1], 'as') ? 3 : 1;
  } else {
    return undefined;
  }
  const source = tokens[at + 1];
  if (!isWord(tokens[at], 'from') || source?.kind !== 'string') return undefined;
  return { from: source.text, kind: isType ? 'type' : 'value' };
}

function isMark(token: Token | undefined, text: string): boolean {
  return token?.kind === 'mark' && token.text === text;
}

function isWord(token: Token | undefined, text: string): boolean {
  return token?.kind === 'word' && token.text === text;
}
