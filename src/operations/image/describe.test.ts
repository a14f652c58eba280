import { expect, test } from 'vitest';
import type { OperationDeps } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';
import { recordsStep, timed } from './describe.ts';

const subject = {
  ...{ image: 'node', version: '1', digest: 'sha256:0', reused: false },
  createdAt: '2026-01-01T00:01:00.000Z',
};
const startedAt = '2026-01-01T00:00:00.000Z';
const timings = [{ step: 'base', ms: 25_000 }];
const whole = { step: 'whole build', ms: 60_000 };

test('notes get the time of each measured step and of the whole', () => {
  expect(timed({ ...subject, startedAt, timings })).toEqual({ timings: [...timings, whole] });
});

test('a builder that measures no steps leaves the whole, and a version that was not built nothing', () => {
  expect(timed({ ...subject, startedAt })).toEqual({ timings: [whole] });
  expect(timed(subject)).toEqual({});
});

test.each([
  ['notes that everyone may read compare with the newest version that everyone may see', false, '1.0.0'],
  ['those of a version with private inputs compare with the previous one, whatever it has', true, '1.0.1'],
])('%s', async (_what, isPrivate, previous) => {
  const version = (number: string, day: string) => ({
    ...{ image: 'node', version: number, digest: `sha256:${number}`, state: 'available' },
    ...{ createdAt: `2026-01-${day}`, origin: { kind: 'imported' } },
  });
  const items = [version('1.0.0', '01'), { ...version('1.0.1', '02'), restricted: true }];
  let asked: unknown;
  const deps = {
    catalogue: { getImage: async () => ({}), listVersions: async () => ({ items }) },
    fleet: { listPools: async () => ({ items: [] }) },
    images: {
      locks: {},
      records: {
        described: async () => undefined,
        describe: async (request: unknown) => {
          asked = request;
          return { restricted: isPrivate };
        },
      },
    },
  } as unknown as OperationDeps;
  const recipe = { name: 'node', components: [{ name: 'hush', private: isPrivate }] };
  const lock = { recipe, inputs: [] } as never;
  await recordsStep(() => ({ ...subject, lock })).do(deps as unknown as Run);
  expect(asked).toMatchObject({ previous: { version: previous } });
});
