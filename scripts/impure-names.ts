// Names through which a file would read the clock, chance or the machine that it runs on.
import type { Token } from './read-tokens.ts';

const globals = new Set(
  (
    'process Buffer console fetch performance crypto globalThis require ' +
    'setTimeout setInterval setImmediate queueMicrotask'
  ).split(' '),
);

export function impureNames(
  tokens: readonly Token[],
): readonly { readonly name: string; readonly line: number }[] {
  return tokens.flatMap((token, index) => {
    if (token.kind !== 'word' || tokens[index - 1]?.text === '.') return [];
    const name = impureName(tokens, index);
    return name === undefined ? [] : [{ name, line: token.line }];
  });
}

function impureName(tokens: readonly Token[], index: number): string | undefined {
  const text = (offset: number) => tokens[index + offset]?.text;
  const name = text(0) ?? '';
  if (globals.has(name)) {
    const isKey = text(1) === ':' || (text(1) === '?' && text(2) === ':');
    return isKey ? undefined : name;
  }
  if (name === 'Math' && text(1) === '.' && text(2) === 'random') return 'Math.random';
  if (name !== 'Date') return undefined;
  if (text(1) === '.' && text(2) === 'now') return 'Date.now';
  if (text(-1) === 'new' && (text(1) !== '(' || text(2) === ')')) return 'new Date';
  return text(-1) !== 'new' && text(1) === '(' ? 'Date()' : undefined;
}
