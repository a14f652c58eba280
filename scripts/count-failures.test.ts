import { expect, it } from 'vitest';
import { countFailures } from './count-failures.ts';

const failed = (name: string) => ({ file: 'a.test.ts', name, why: ['expected 1', 'more'] });

it('lists each test that failed at least once, the most frequent first, with its seeds', () => {
  const lines = countFailures([
    { seed: 1, loaded: false, code: 1, failed: [failed('rare'), failed('often')] },
    { seed: 2, loaded: true, code: 1, failed: [failed('often')] },
    { seed: 3, loaded: false, code: 0, failed: [] },
  ]);
  expect(lines).toEqual([
    'failed 2 of 3: a.test.ts > often',
    '  seed 1: expected 1',
    '  seed 2, under load: expected 1',
    'failed 1 of 3: a.test.ts > rare',
    '  seed 1: expected 1',
    '1 passed, 2 failed',
  ]);
});

it('does not count a run as passed that failed without naming a test', () => {
  expect(countFailures([{ seed: 7, loaded: false, code: 1, failed: [] }])).toEqual([
    'exit code 1 without a failed test: seed 7',
    '0 passed, 1 failed',
  ]);
});
