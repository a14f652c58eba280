import { expect, test } from 'vitest';
import { type Evidence, testsPassed } from './evidence.ts';

const run = (id: number, passed: boolean, details: Evidence['details'] = {}): Evidence => ({
  ...{ id, digest: 'sha256:a', kind: 'test', passed, summary: '', details, by: 'x', at: '' },
});
const partial = { partial: true };

test.each([
  ['a complete run', [run(1, true)], true],
  ['only a run with some kinds of firmware', [run(1, true, partial)], false],
  ['a partial run after a complete one', [run(1, true), run(2, true, partial)], true],
  ['a partial run that failed after a complete one', [run(1, true), run(2, false, partial)], false],
  ['a partial run that passed after a failure', [run(1, false), run(2, true, partial)], false],
  ['two partial runs', [run(1, true, partial), run(2, true, partial)], false],
])('with %s', (_, evidence, passed) => {
  expect(testsPassed('sha256:a', evidence)).toBe(passed);
});
