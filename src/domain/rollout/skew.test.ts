import { expect, test } from 'vitest';
import { refuseSkew } from './skew.ts';

test.each([
  ['1.36.0', 'v1.36.3'],
  ['1.33.9', 'v1.36.3'],
  [undefined, 'v1.36.3'],
  ['1.36.0', 'unknown'],
])('a kubelet %s joins an API server %s', (kubelet, server) => {
  expect(() => refuseSkew('node:1.0.0', kubelet, server)).not.toThrow();
});

test.each([
  ['1.37.0', 'newer than the API server v1.36.3'],
  ['1.32.4', 'more than 3 minor versions older than the API server v1.36.3'],
])('a kubelet %s is refused', (kubelet, reason) => {
  expect(() => refuseSkew('node:1.0.0', kubelet, 'v1.36.3')).toThrow(reason);
});
