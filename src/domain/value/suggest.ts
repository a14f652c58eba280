// Did-you-mean: the nearest known names to one that was mistyped. Used by the command line, recipes and references.

/** How many letters must be added, removed, replaced or swapped with their neighbour to get from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  const width = b.length + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: width }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column < width; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let best = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) best = Math.min(best, at(beforeLast, column - 2) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/**
 * The known names that `text` may have meant, nearest first, at most `limit`. Case does not count. Names that
 * merely begin with `text` (three letters or more) come after those that are a slip of the fingers away.
 */
export function nearest(text: string, known: Iterable<string>, limit = 3): readonly string[] {
  const wanted = text.toLowerCase();
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const found: { name: string; distance: number }[] = [];
  for (const name of new Set(known)) {
    if (Math.abs(name.length - wanted.length) <= allowed) {
      const distance = editDistance(wanted, name.toLowerCase());
      if (distance <= allowed) {
        found.push({ name, distance });
        continue;
      }
    }
    if (wanted.length >= 3 && name.toLowerCase().startsWith(wanted)) {
      found.push({ name, distance: allowed + name.length - wanted.length });
    }
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1));
  return found.slice(0, limit).map(({ name }) => name);
}

/** A question for a hint, or `undefined` when nothing is near. `show` says how a name is written in it. */
export function didYouMean(
  text: string,
  known: Iterable<string>,
  show: (name: string) => string = (name) => `\`${name}\``,
): string | undefined {
  const names = nearest(text, known).map(show);
  return names.length === 0 ? undefined : `Did you mean ${orList(names)}?`;
}

/** `a`, `a or b`, `a, b or c`. */
export function orList(items: readonly string[]): string {
  if (items.length <= 1) return items[0] ?? '';
  return `${items.slice(0, -1).join(', ')} or ${items.at(-1)}`;
}
