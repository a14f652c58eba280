import { describe, expect, test } from 'vitest';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { KeptLocks } from '../../ports/image-store/image-store.ts';
import { imageUpkeep } from './retain-inputs.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

function world(
  versions: readonly Pick<VersionRecord, 'version' | 'state'>[],
  missing: readonly string[] = [],
) {
  const kept = new Set<string>();
  const asked: string[] = [];
  let now = 0;
  const lockOf = (version: string) => `lock of ${version}`;
  for (const { version } of versions) kept.add(lockOf(version));
  const locks: KeptLocks = {
    keep: async (digest) => void kept.add(digest),
    read: async () => undefined,
    async keepInputs(digest) {
      asked.push(digest);
      return { count: 1, bytes: 1, missing };
    },
    drop: async (digest) => void kept.delete(digest),
    list: async () => [...kept],
  };
  const catalogue = {
    listByLocks: async (asked: readonly string[]) =>
      versions
        .map((one) => ({ ...one, image: 'node', lockDigest: lockOf(one.version) }))
        .filter(({ state, lockDigest }) => state !== 'deleted' && asked.includes(lockDigest)),
  };
  return {
    upkeep: imageUpkeep({ catalogue, locks, now: () => now }),
    kept,
    asked,
    pass: (ms: number) => (now += ms),
  };
}

describe('inputs of versions', () => {
  test('are kept once a version left candidate, and asked for once', async () => {
    const { upkeep, asked } = world([
      { version: '1.0.0', state: 'candidate' },
      { version: '1.0.1', state: 'available' },
      { version: '1.0.2', state: 'deprecated' },
    ]);
    await upkeep.round(never);
    await upkeep.round(never);
    expect(asked).toEqual(['lock of 1.0.1', 'lock of 1.0.2']);
  });

  test('that are missing are reported and looked for again in every round', async () => {
    const { upkeep, asked } = world([{ version: '1.0.0', state: 'available' }], ['The package runc 1.1']);
    for (let round = 0; round < 2; round += 1) {
      expect(await upkeep.round(never)).toEqual([
        {
          ...{ kind: 'inputs-missing', subject: 'version/node:1.0.0' },
          message: expect.stringContaining('The package runc 1.1'),
        },
      ]);
    }
    expect(asked).toHaveLength(2);
  });

  test('a lock that no version has goes after a day, and one that a version has stays', async () => {
    const { upkeep, kept, pass } = world([{ version: '1.0.0', state: 'candidate' }]);
    kept.add('lock of a build that failed');
    await upkeep.round(never);
    pass(23 * hour);
    await upkeep.round(never);
    expect(kept.size).toBe(2);
    pass(2 * hour);
    await upkeep.round(never);
    expect([...kept]).toEqual(['lock of 1.0.0']);
  });

  test('the lock of a deleted version goes too', async () => {
    const { upkeep, kept, pass } = world([{ version: '1.0.0', state: 'deleted' }]);
    await upkeep.round(never);
    pass(25 * hour);
    await upkeep.round(never);
    expect(kept.size).toBe(0);
  });
});
