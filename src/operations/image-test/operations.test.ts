import { expect, test } from 'vitest';
import type { OperationDeps } from '../common/deps.ts';
import { noteMeasures } from './operations.ts';

function world(stored: readonly string[]) {
  const noted: unknown[] = [];
  const images = {
    find: async (digest: string) => (stored.includes(digest) ? {} : undefined),
    records: { measured: async (...words: unknown[]) => void noted.push(words) },
  };
  return { deps: { images } as unknown as OperationDeps, noted };
}

test('what was measured is noted with the version that it is of', async () => {
  const { deps, noted } = world(['sha256:1']);
  await noteMeasures(deps, 'sha256:1', 12_000);
  expect(noted).toEqual([['sha256:1', { bootToReadyMs: 12_000 }]]);
});

test('a version that is elsewhere, or whose machines never became ready, has nothing to note', async () => {
  const { deps, noted } = world(['sha256:1']);
  await noteMeasures(deps, 'sha256:2', 12_000);
  await noteMeasures(deps, 'sha256:1', undefined);
  await noteMeasures({ images: undefined }, 'sha256:1', 12_000);
  expect(noted).toEqual([]);
});
