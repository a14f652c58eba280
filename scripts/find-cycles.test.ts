import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findCycles } from './find-cycles.ts';

function cycles(graph: Record<string, string[]>): readonly (readonly string[])[] {
  return findCycles(new Map(Object.entries(graph)));
}

test('a chain and a diamond have none', () => {
  expect(cycles({ a: ['b'], b: ['c'], c: [] })).toEqual([]);
  expect(cycles({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).toEqual([]);
});

test('one that loads itself is one', () => {
  expect(cycles({ a: ['a'] })).toEqual([['a']]);
});

test('each knot is shown by its shortest cycle', () => {
  expect(cycles({ b: ['c'], c: ['a'], a: ['b'], d: ['e'], e: ['d', 'a'] })).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
  expect(cycles({ a: ['b', 'c'], b: ['c'], c: ['a'] })).toEqual([['a', 'c']]);
});

test('names that lead nowhere are no cycle', () => {
  expect(cycles({ a: ['outside'] })).toEqual([]);
});

test('a long chain does not overflow', () => {
  const length = 20_000;
  const graph = new Map(Array.from({ length }, (_, index) => [`${index}`, [`${index + 1}`]]));
  expect(findCycles(graph)).toEqual([]);
});

test('a graph has a cycle exactly when some name reaches itself', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const edges = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 10 });
  fc.assert(
    fc.property(edges, (pairs) => {
      const graph = new Map(
        names.map((name) => [name, pairs.filter(([from]) => from === name).map(([, to]) => to)]),
      );
      const reached = (start: string) => {
        const seen = new Set<string>();
        const queue = [...(graph.get(start) ?? [])];
        for (const name of queue) {
          if (seen.has(name)) continue;
          seen.add(name);
          queue.push(...(graph.get(name) ?? []));
        }
        return seen;
      };
      const found = findCycles(graph);
      expect(found.length > 0).toBe(names.some((name) => reached(name).has(name)));
      for (const cycle of found) {
        for (const [index, name] of cycle.entries()) {
          expect(graph.get(name)).toContain(cycle[(index + 1) % cycle.length]);
        }
      }
    }),
  );
});
