import { expect, test } from 'vitest';
import { describeFreshness, type Freshness, oldestMs, withEarlier } from './freshness.ts';

const now = Date.parse('2026-11-16T12:00:00Z');
const one = (since?: string, current = '1') => ({
  ...{ name: 'openssl', current, newest: '2', security: true, ...(since !== undefined && { since }) },
});

function found(behind: Freshness['behind']): Freshness {
  const indexedAt = '2026-11-16T10:00:00Z';
  return { suite: 'trixie', indexedAt, hasSecurity: true, packages: 9, behind, unlisted: [] };
}

test('an update that replaced another one is as old as the first', () => {
  const earlier = [found([one('2026-11-10T12:00:00Z')]), found([one('2026-11-12T12:00:00Z')])];
  const merged = withEarlier(found([one('2026-11-15T12:00:00Z')]), earlier);
  expect(oldestMs(merged.behind, now)).toBe(6 * 86_400_000);
});

test('what another version of the package lacked says nothing', () => {
  const merged = withEarlier(found([one('2026-11-15T12:00:00Z', '1.1')]), [
    found([one('2026-11-10T12:00:00Z')]),
  ]);
  expect(oldestMs(merged.behind, now)).toBe(86_400_000);
});

test('an unknown age is not a young one', () => {
  expect(oldestMs([one(), one('2026-11-15T12:00:00Z')], now)).toBe(Number.POSITIVE_INFINITY);
  expect(oldestMs([one('2027-01-01T00:00:00Z')], now)).toBe(0);
});

test('is told in one line', () => {
  expect(describeFreshness(found([]), now)).toBe('none of 9 packages is behind');
  expect(describeFreshness(found([one('2026-11-11T12:00:00Z')]), now)).toBe(
    '1 of 9 packages are behind, 1 by security updates, the oldest for 5 d',
  );
});
