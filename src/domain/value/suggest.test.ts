import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { didYouMean, editDistance, nearest, orList } from './suggest.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 7 });

/** Distance by its definition: a search over all single edits, which no table can get wrong. */
function searchedDistance(a: string, b: string): number {
  const letters = [...new Set(b)];
  let reached = new Set([a]);
  for (let steps = 0; ; steps += 1) {
    if (reached.has(b)) return steps;
    const next = new Set(reached);
    for (const text of reached) {
      for (let at = 0; at <= text.length; at += 1) {
        const before = text.slice(0, at);
        const after = text.slice(at);
        next.add(before + after.slice(1));
        for (const letter of letters) {
          next.add(before + letter + after);
          next.add(before + letter + after.slice(1));
        }
        if (after.length >= 2) next.add(`${before}${after[1]}${after[0]}${after.slice(2)}`);
      }
    }
    reached = next;
  }
}

describe('editDistance', () => {
  test.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['production', 'prodcution', 1],
    ['staging', 'stagin', 1],
    ['kitten', 'sitting', 3],
    ['pool', 'poll', 1],
  ])('%s to %s is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  test('is the same both ways, and zero only for equal words', () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });

  test('for near words it agrees with a search over single edits', () => {
    const short = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 4 });
    fc.assert(
      fc.property(short, short, (a, b) => {
        fc.pre(editDistance(a, b) <= 2);
        expect(editDistance(a, b)).toBe(searchedDistance(a, b));
      }),
      { numRuns: 60 },
    );
  });
});

describe('nearest', () => {
  const verbs = ['promote', 'rollback', 'history', 'list', 'production', 'prod'];

  test('finds a slip of the fingers', () => {
    expect(nearest('prmote', verbs)).toEqual(['promote']);
  });

  test('finds what a word begins, after the slips', () => {
    expect(nearest('prod', ['production', 'prof'])).toEqual(['prof', 'production']);
  });

  test('case does not count', () => {
    expect(nearest('LIST', verbs)).toEqual(['list']);
  });

  test('suggests nothing for a word that is far from all', () => {
    expect(nearest('zebra', verbs)).toEqual([]);
    expect(nearest('', verbs)).toEqual([]);
  });

  test('a word with one slip is always found, whatever else there is', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 2 }), fc.nat(3), (others, at) => {
        const wanted = 'gallery';
        const typed = wanted.slice(0, at) + wanted.slice(at + 1);
        expect(nearest(typed, [...others, wanted])).toContain(wanted);
      }),
    );
  });
});

test('a hint asks one question, with all that may have been meant', () => {
  expect(didYouMean('stagin', ['staging', 'production'])).toBe('Did you mean `staging`?');
  expect(didYouMean('bee', ['bed', 'beer'])).toBe('Did you mean `bed` or `beer`?');
  expect(didYouMean('xyz', ['staging'])).toBeUndefined();
});

test('lists of choices are read aloud', () => {
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(orList)).toEqual(['', 'a', 'a or b', 'a, b or c']);
});
