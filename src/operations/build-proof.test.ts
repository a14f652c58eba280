import { expect, test } from 'vitest';
import type { Lock } from '../domain/lock.ts';
import { intendedBy } from './build-proof.ts';

const sha256 = 'a'.repeat(64);

const lock = {
  format: 1,
  rules: 1,
  epoch: 0,
  recipe: {
    name: 'node',
    numbering: 'semver',
    os: 'linux',
    architecture: 'x64',
    settings: {},
    components: [
      { name: 'runc', version: '1.1.15' },
      {
        name: 'kubelet',
        version: '1.34.2',
        from: { url: 'https://example.com/{version}/kubelet' },
        to: '/usr/bin/kubelet',
        unit: { content: '[Service]' },
        config: [{ path: '/etc/default/kubelet', content: '' }],
      },
    ],
  },
  inputs: [
    {
      kind: 'package',
      name: 'libc6',
      version: '2',
      sha256,
      sizeBytes: 1,
      source: 'debian:x',
      sets: ['essential'],
    },
  ],
} as unknown as Lock;

test('a component may change where the installer puts it, and nowhere else', () => {
  expect(intendedBy(lock, ['kubelet=1.34.3'])).toEqual({
    packages: [],
    places: [
      '/usr/lib/imago/components/kubelet.json',
      '/usr/bin/kubelet',
      '/etc/systemd/system/kubelet.service',
      '/etc/default/kubelet',
    ],
  });
});

test('a package may change with what it owns, whether the recipe names it or not', () => {
  expect(intendedBy(lock, ['runc=1.1.16', 'libc6=3'])).toMatchObject({ packages: ['runc', 'libc6'] });
});

test('what was not set may not change at all', () => {
  expect(intendedBy(lock, ['curl=8'])).toEqual({ packages: [], places: [] });
});
