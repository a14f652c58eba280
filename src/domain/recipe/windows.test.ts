import { expect, test } from 'vitest';
import type { WindowsPatch } from './recipe.ts';
import { orderPatches, patchProblem } from './windows.ts';

function patch(kb: string, ...prerequisites: string[]): WindowsPatch {
  return { kb, class: 'B', url: 'https://example.test', ...(prerequisites.length > 0 && { prerequisites }) };
}

test('a patch goes on after its prerequisites, else the order is as written', () => {
  const patches = [patch('KB3', 'KB1', 'KB4'), patch('KB2'), patch('KB1'), patch('KB4', 'KB1')];
  expect(orderPatches(patches).map(({ kb }) => kb)).toEqual(['KB2', 'KB1', 'KB4', 'KB3']);
});

test('a prerequisite that is not there, and a circle, are told', () => {
  expect(patchProblem([patch('KB1', 'KB9')])).toBe('KB1 needs KB9, which is not among the patches');
  expect(patchProblem([patch('KB1', 'KB2'), patch('KB2', 'KB1'), patch('KB3')])).toMatch(
    /^KB1, KB2 need each other/,
  );
  expect(() => orderPatches([patch('KB1', 'KB1')])).toThrow(/need each other/);
});
