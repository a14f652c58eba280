// Versions of other people's software: whatever they look like, numbers in them are compared as numbers.

/** Negative when `a` is older. A version with a suffix such as `-rc.1` comes before the one without. */
export function compareLoosely(a: string, b: string): number {
  const [first, second] = [split(a), split(b)];
  for (let at = 0; at < Math.max(first.numbers.length, second.numbers.length); at += 1) {
    const difference = (first.numbers[at] ?? 0) - (second.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (first.suffix === second.suffix) return 0;
  if (first.suffix === '') return 1;
  if (second.suffix === '') return -1;
  return first.suffix < second.suffix ? -1 : 1;
}

/** Whether `next` is no further away from `current` than allowed. */
export function isWithin(current: string, next: string, within: 'patch' | 'minor' | 'any'): boolean {
  if (within === 'any') return true;
  const [before, after] = [split(current).numbers, split(next).numbers];
  if (before[0] !== after[0]) return false;
  return within === 'minor' || before[1] === after[1];
}

function split(version: string): { readonly numbers: readonly number[]; readonly suffix: string } {
  const match = /^v?([0-9]+(?:\.[0-9]+)*)(.*)$/.exec(version.trim());
  const numbers = (match?.[1] ?? '').split('.').map(Number);
  return { numbers, suffix: match?.[2] ?? version };
}
