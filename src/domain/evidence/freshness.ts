// How old the packages of a sealed disk are: those of which its archive has newer versions, and since when.
import * as z from 'zod';
import { formatDuration } from '../value/duration.ts';
import { listOf, record, timestamp } from '../value/fields.ts';
import type { Evidence } from './record.ts';

const outdatedPackage = z.object({
  name: z.string(),
  current: z.string(),
  newest: z.string(),
  security: z.boolean().describe('It is a security update.'),
  since: timestamp
    .optional()
    .describe('When the first update that the disk lacks was published. Absent if that is unknown.'),
});
export type OutdatedPackage = z.output<typeof outdatedPackage>;

export const freshness = record(
  'Freshness',
  'The packages of a version, compared with the signed index of their archive.',
  {
    suite: z.string(),
    indexedAt: timestamp.describe('When the archive signed the index.'),
    hasSecurity: z.boolean().describe('The archive has a part for security updates.'),
    packages: z.int().describe('Number of packages on the disk.'),
    behind: listOf(outdatedPackage),
    unlisted: listOf(z.string()).describe('Packages that the archive does not have.'),
  },
);
export type Freshness = z.output<typeof freshness>;

/** The newest comparison of this digest. */
export function newestFreshness(
  digest: string,
  evidence: readonly Evidence[],
): { readonly evidence: Evidence; readonly found: Freshness } | undefined {
  const newest = evidence.findLast((one) => one.kind === 'freshness' && one.digest === digest);
  const read = freshness.safeParse(newest?.details);
  return newest === undefined || !read.success ? undefined : { evidence: newest, found: read.data };
}

/**
 * A package was behind since the earliest time that is known: of an update that replaced another one, the archive has
 * only the later date.
 */
export function withEarlier(found: Freshness, earlier: readonly Freshness[]): Freshness {
  const known = earlier.flatMap(({ behind }) => behind);
  const sinceOf = ({ name, current, security, since }: OutdatedPackage) => {
    const same = known.filter(
      (one) => one.name === name && one.current === current && one.security === security,
    );
    return [since, ...same.map((one) => one.since)].filter((time) => time !== undefined).toSorted()[0];
  };
  return {
    ...found,
    behind: found.behind.map((one) => {
      const since = sinceOf(one);
      return { ...one, ...(since !== undefined && { since }) };
    }),
  };
}

export function securityUpdates({ behind }: Pick<Freshness, 'behind'>): readonly OutdatedPackage[] {
  return behind.filter(({ security }) => security);
}

/** How long the oldest of them has been missing; `undefined` if there is none, infinite if that is unknown. */
export function oldestMs(missing: readonly OutdatedPackage[], now: number): number | undefined {
  if (missing.length === 0) return undefined;
  const age = ({ since }: OutdatedPackage) =>
    since === undefined ? Number.POSITIVE_INFINITY : Math.max(0, now - Date.parse(since));
  return Math.max(...missing.map(age));
}

/** `3 of 212 packages are behind, 1 by a security update that is 5 d old`. */
export function describeFreshness(found: Freshness, now: number): string {
  const { behind, packages, hasSecurity } = found;
  const missing = securityUpdates(found);
  const oldest = oldestMs(missing.length > 0 ? missing : behind, now);
  const age =
    oldest === undefined
      ? ''
      : Number.isFinite(oldest)
        ? `, the oldest for ${formatDuration(oldest)}`
        : ', the oldest for an unknown time';
  const security = hasSecurity
    ? `${missing.length} by security updates`
    : 'its archive has no security updates';
  return behind.length === 0
    ? `none of ${packages} packages is behind`
    : `${behind.length} of ${packages} packages are behind, ${security}${age}`;
}
