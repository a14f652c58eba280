// One thing that is wrong with a recipe, and small rules that many of its parts share.
import { quote } from '../value/quote.ts';

export interface RecipeProblem {
  /** Keys and indices from the recipe's root, for whoever knows lines and columns. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly hint?: string;
}

/** A problem for each item whose key an earlier one has. */
export function repeated<T>(
  items: readonly T[],
  key: (item: T) => string,
  at: RecipeProblem['path'],
  what: string,
): readonly RecipeProblem[] {
  const seen = new Set<string>();
  return items.flatMap((item, index) => {
    const name = key(item);
    if (seen.has(name)) return [{ path: [...at, index], message: `the ${what} ${name} is listed twice` }];
    seen.add(name);
    return [];
  });
}

interface Texted {
  readonly content?: string;
  readonly file?: string;
}

/** What is wrong when not exactly one of `content` and `file` is given. */
export function textProblem({ content, file }: Texted): string | undefined {
  if (content === undefined && file === undefined) return 'needs one of `content` and `file`';
  return content === undefined || file === undefined ? undefined : 'has `content` and `file`';
}

export function modeProblem(mode: string | undefined): string | undefined {
  return mode === undefined || /^[0-7]{3,4}$/.test(mode)
    ? undefined
    : `its mode ${quote(mode)} is not octal, like "0644"`;
}
