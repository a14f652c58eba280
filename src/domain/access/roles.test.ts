import { describe, expect, test } from 'vitest';
import { isRole, isSamePerson, localOwner, type Requester, roleIncludes, roles } from './roles.ts';

describe('each role may do all that the ones before it may', () => {
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

test('tokens are different people by their owners', () => {
  expect(isSamePerson({ by: 'ada' }, { by: 'bob' })).toBe(false);
  expect(isSamePerson({ by: 'ada' }, { by: 'ada' })).toBe(true);
  expect(isSamePerson({ by: 'ada' }, { by: localOwner })).toBe(false);
});

test('tokens that one OS user uses are one person, and local is any OS user', () => {
  const root = { by: 'ada', osUser: 'root' };
  const cases: [Requester, boolean][] = [
    [{ by: 'bob', osUser: 'root' }, true],
    [{ by: 'bob', osUser: 'eve' }, false],
    [{ by: 'bob' }, false],
    [{ by: localOwner, osUser: 'root' }, true],
    [{ by: localOwner }, true],
  ];
  for (const [other, same] of cases) {
    expect(isSamePerson(root, other)).toBe(same);
    expect(isSamePerson(other, root)).toBe(same);
  }
});
