import { expect, it } from 'vitest';
import { createRateLimit } from './rate-limit.ts';

it('allows five calls in any second, and refused ones do not count', () => {
  const allowed = createRateLimit(5);
  const at = [0, 100, 200, 300, 400, 500, 600, 999, 1000, 1050, 1100];
  expect(at.filter((ms) => allowed(ms))).toEqual([0, 100, 200, 300, 400, 1000, 1100]);
});
