import { describe, expect, test } from 'vitest';
import { isRole, leastRole, localOwner, mayApprove, mayDo, roleIncludes, roles } from './roles.ts';

describe('each role may do all that the ones before it may', () => {
  test.each([
    ['viewer', ['read']],
    ['operator', ['read', 'operate']],
    ['publisher', ['read', 'operate', 'publish']],
    ['admin', ['read', 'operate', 'publish', 'administer']],
  ] as const)('%s', (role, allowed) => {
    const actions = Object.keys(leastRole) as (keyof typeof leastRole)[];
    expect(actions.filter((action) => mayDo(role, action))).toEqual(allowed);
  });

  test('the order of roles is that of their list', () => {
    for (const [low, role] of roles.entries()) {
      for (const [high, other] of roles.entries()) expect(roleIncludes(role, other)).toBe(low >= high);
    }
  });
});

test('a word that is no role is none, also not one that every object has', () => {
  expect(isRole('admin')).toBe(true);
  expect(isRole('constructor')).toBe(false);
  expect(isRole('Admin')).toBe(false);
});

test('nobody approves what they asked for, and local approves nothing', () => {
  expect(mayApprove('ada', 'bob')).toBe(true);
  expect(mayApprove('ada', 'ada')).toBe(false);
  expect(mayApprove(localOwner, 'bob')).toBe(false);
});
