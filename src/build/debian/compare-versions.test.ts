import { expect, test } from 'vitest';
import { compareDebianVersions } from './compare-versions.ts';

// Each is older than the next; `dpkg --compare-versions` says the same.
const inOrder = [
  '0.9',
  '1.0~~',
  '1.0~rc1-1',
  '1.0',
  '1.0-1~bpo1',
  '1.0-1',
  '1.0-1+b1',
  '1.0-1.1',
  '1.0-10',
  '1.0a-1',
  '1.0+dfsg-1',
  '1.9-1',
  '1.10-1',
  '6.12.48+deb13-1',
  '6.12.57+deb13-1',
  '1:0.1',
  '1:1.1.15~ds1-1',
  '1:1.1.15-1',
  '2:0~0',
];

test('versions are in the order of Debian', () => {
  for (const [index, older] of inOrder.entries()) {
    expect(compareDebianVersions(older, older)).toBe(0);
    for (const newer of inOrder.slice(index + 1)) {
      expect([older, newer, Math.sign(compareDebianVersions(older, newer))]).toEqual([older, newer, -1]);
      expect([newer, older, Math.sign(compareDebianVersions(newer, older))]).toEqual([newer, older, 1]);
    }
  }
});

test('what is written differently may be the same version', () => {
  expect(compareDebianVersions('0:1.0', '1.0')).toBe(0);
  expect(compareDebianVersions('1.0-0', '1.0')).toBe(0);
  expect(compareDebianVersions('1.01', '1.1')).toBe(0);
});
