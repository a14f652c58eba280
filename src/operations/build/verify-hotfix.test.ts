import { expect, test } from 'vitest';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { IntendedChanges } from '../../ports/image-store/image-store.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';
import { type FixedSubject, intendedBy, proveHotfix } from './verify-hotfix.ts';

const sha256 = 'a'.repeat(64);

function lockWith(kubelet: string): Lock {
  return {
    format: 1,
    rules: 1,
    epoch: 0,
    recipe: {
      name: 'node',
      numbering: 'semver',
      os: 'linux',
      architecture: 'x64',
      settings: { files: [{ path: '/opt/kubelet-1.34.2/local.conf', content: '' }] },
      components: [
        { name: 'runc', version: '1.1.15' },
        {
          name: 'kubelet',
          version: kubelet,
          from: { tar: `https://example.com/\${version}.tar` },
          to: `/opt/kubelet-\${version}`,
          unit: { content: '[Service]' },
          config: [{ path: '/etc/default/kubelet', content: '' }],
        },
        { name: 'cni', version: '1', from: { folder: 'cni' }, to: '/opt/kubelet-1.34.2/cni' },
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
  } as Lock;
}

const [shipped, fixed] = [lockWith('1.34.2'), lockWith('1.34.3')];

test('a component may change where the installer puts it, before and after, and nowhere else', () => {
  expect(intendedBy([shipped, fixed], ['kubelet=1.34.3'])).toEqual({
    names: ['kubelet'],
    packages: [],
    places: [
      '/usr/lib/imago/components/kubelet.json',
      '/opt/kubelet-1.34.2',
      '/etc/systemd/system/kubelet.service',
      '/etc/default/kubelet',
      '/opt/kubelet-1.34.3',
    ],
    others: [
      '/usr/lib/imago/components/runc.json',
      '/usr/lib/imago/components/cni.json',
      '/opt/kubelet-1.34.2/cni',
      '/opt/kubelet-1.34.2/local.conf',
    ],
  });
});

test('a package may change with what it owns, whether the recipe names it or not', () => {
  expect(intendedBy([fixed], ['runc=1.1.16', 'libc6=3'])).toMatchObject({ packages: ['runc', 'libc6'] });
});

test('what was not set may not change at all', () => {
  expect(intendedBy([fixed], ['curl=8'])).toMatchObject({ packages: [], places: [] });
});

interface World {
  readonly moved?: readonly string[] | Error;
  readonly isListed?: boolean;
}

async function prove({ moved = [], isListed = true }: World) {
  const asked: IntendedChanges[] = [];
  const lines: string[] = [];
  const deps = {
    catalogue: { getVersion: async () => (isListed ? { digest: 'sha256:1' } : undefined) },
    images: {
      locks: { read: async () => shipped },
      records: {
        async unintended(_: unknown, intended: IntendedChanges) {
          asked.push(intended);
          if (moved instanceof Error) throw moved;
          return moved;
        },
      },
    },
  } as unknown as OperationDeps;
  const subject: FixedSubject = {
    ...{ image: 'node', digest: 'sha256:2', previous: '1.0.0', lockDigest: 'sha256:3' },
    ...{ lock: fixed, set: ['kubelet=1.34.3'] },
  };
  const run = { ...deps, signal: new AbortController().signal, log: (line: string) => void lines.push(line) };
  const result = await proveHotfix(run as unknown as Run, subject);
  return { result, asked, lines };
}

test('the places of both locks are allowed', async () => {
  const { result, asked } = await prove({});
  expect(result).toEqual({ proven: true });
  expect(asked[0]?.places).toEqual(expect.arrayContaining(['/opt/kubelet-1.34.2', '/opt/kubelet-1.34.3']));
});

test('what moved as well fails the build, with all of it by name', async () => {
  const moved = Array.from({ length: 7 }, (_, index) => `file /etc/${index} is new`);
  await expect(prove({ moved })).rejects.toMatchObject({
    code: 'hotfix-moved-more',
    retryable: false,
    message: expect.stringMatching(/node:1\.0\.0 .*file \/etc\/0 is new; .*\(and 2 more\)/),
    details: { moved },
  });
});

test.each([
  [{ moved: new ImagoError('store-not-found', 'the store has no sha256:1') }, /the store has no sha256:1/],
  [{ moved: new ImagoError('inventory-invalid', 'by another version') }, /by another version/],
  [{ isListed: false }, /no longer in the catalog/],
])('what cannot be compared is reported as not proven, not skipped: %#', async (world, why) => {
  const { result, lines } = await prove(world);
  expect(result).toEqual({ proven: false, unproven: expect.stringMatching(why) });
  expect(lines).toEqual([expect.stringMatching(why)]);
});

test('a store that cannot be read at the moment does not excuse the proof', async () => {
  await expect(prove({ moved: new ImagoError('store-busy', 'locked') })).rejects.toMatchObject({
    code: 'store-busy',
  });
});
