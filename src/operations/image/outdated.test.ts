import { expect, test } from 'vitest';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import { refreshFreshness } from './outdated.ts';

const now = Date.parse('2026-11-18T12:00:00Z');
const found = {
  ...{ suite: 'trixie', indexedAt: '2026-11-18T08:00:00Z', hasSecurity: true, packages: 9 },
  ...{ behind: [], unlisted: [] },
};

test.each([
  { at: '2026-11-18T11:30:00Z', isFresh: true, logged: 0 },
  { at: '2026-11-18T09:30:00Z', isFresh: false, logged: 1 },
])(
  'a comparison of $at that cannot be repeated counts as fresh: $isFresh',
  async ({ at, isFresh, logged }) => {
    const lines: string[] = [];
    const evidence = { kind: 'freshness', digest: 'sha256:1', at, details: found };
    const run = {
      catalogue: { listEvidence: async () => [evidence] },
      ...{ clock: { now: () => now }, providers: () => [], log: (line: string) => lines.push(line) },
    } as unknown as Parameters<typeof refreshFreshness>[0];
    expect(await refreshFreshness(run, { digest: 'sha256:1' } as VersionRecord)).toBe(isFresh);
    expect(lines).toHaveLength(logged);
  },
);
