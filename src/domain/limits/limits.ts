// How near each limit is, when it is reached at the present pace, and what to do about it.
import { ImagoError } from '../error/imago-error.ts';
import type { LimitForecast, LimitName, LimitUse } from './record.ts';

export type { LimitForecast, LimitUse } from './record.ts';

/** How much was used at the end of a day. */
export interface LimitSample {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly used: number;
}

const dayMs = 86_400_000;
const windowDays = 30;
/** The farthest day that a forecast names: beyond it, the pace of some weeks says nothing. */
const horizonDays = 3650;
const nearPercent = 80;
const nearLeft = 10;
const nearDays = 60;

/** The limit with its pace. `samples` in any order; those older than 30 days play no part. */
export function forecast(use: LimitUse, samples: readonly LimitSample[], now: Date): LimitForecast {
  const growthPerDay = growth(use, samples, now);
  const daysLeft = growthPerDay === undefined ? undefined : left(use) / growthPerDay;
  const reached =
    daysLeft !== undefined && growthPerDay !== undefined && growthPerDay > 0 && daysLeft <= horizonDays
      ? new Date(now.getTime() + daysLeft * dayMs).toISOString().slice(0, 10)
      : undefined;
  const percent = use.limit === 0 ? 100 : Math.round((1000 * use.used) / use.limit) / 10;
  const near =
    percent >= nearPercent ||
    (use.name !== 'bytes' && left(use) <= nearLeft) ||
    (reached !== undefined && (daysLeft ?? 0) <= nearDays);
  return {
    ...use,
    percent,
    ...(growthPerDay === undefined ? {} : { growthPerDay: Math.round(growthPerDay * 100) / 100 }),
    ...(reached === undefined ? {} : { reachedOn: reached }),
    ...(near ? { advice: adviceFor(use.name) } : {}),
  };
}

/** From the oldest sample of the last weeks to now; at least a day must lie between. */
function growth(use: LimitUse, samples: readonly LimitSample[], now: Date): number | undefined {
  const since = now.getTime() - windowDays * dayMs;
  const oldest = samples
    .map(({ day, used }) => ({ at: Date.parse(`${day}T23:59:59Z`), used }))
    .filter(({ at }) => at >= since && now.getTime() - at >= dayMs)
    .toSorted((a, b) => a.at - b.at)[0];
  if (oldest === undefined) return undefined;
  return (use.used - oldest.used) / ((now.getTime() - oldest.at) / dayMs);
}

function left({ used, limit }: LimitUse): number {
  return Math.max(0, limit - used);
}

function adviceFor(name: LimitName): string {
  const advice: Readonly<Record<LimitName, string>> = {
    galleries: 'Put several images into one gallery, or ask the provider for more.',
    images: 'Let versions share an image, or open a gallery in another subscription.',
    versions:
      'Delete what nothing needs (`imago prune --dry-run`), or begin a new line in another subscription.',
    'versions-per-image': 'Delete what nothing needs (`imago prune --dry-run`), or begin a new image.',
    'replicas-per-version': 'Spread the start of nodes, or copy the version to more regions.',
    bytes:
      'Delete what nothing needs (`imago prune --dry-run`): versions share what they have in common, so a few large old ones count most.',
  };
  return advice[name];
}

/**
 * Refuses what the gallery would refuse later: `limit-reached` when a new version, or a new image with it, would
 * not fit. Called before anything is copied.
 */
export function checkRoom(
  subject: string,
  uses: readonly LimitUse[],
  needed: Partial<Readonly<Record<LimitName, number>>>,
): void {
  for (const use of uses) {
    const more = needed[use.name] ?? 0;
    if (more === 0 || use.used + more <= use.limit) continue;
    throw new ImagoError(
      'limit-reached',
      `${subject} does not fit: ${use.used} of ${use.limit} ${describeLimit(use.name)} are used.`,
      { hint: adviceFor(use.name), details: { limit: use.name, used: use.used, of: use.limit } },
    );
  }
}

function describeLimit(name: LimitName): string {
  return name === 'bytes' ? 'bytes' : name.replaceAll('-', ' ');
}

/** Machines that one copy of a version can start at the same time. */
const startsPerReplica = 20;
const fewestInProduction = 3;

/** Copies of a version that a region needs: one for every 20 machines made at once, at least 3 in production. */
export function replicasFor(machinesAtOnce: number, production: boolean): number {
  return Math.max(production ? fewestInProduction : 1, Math.ceil(machinesAtOnce / startsPerReplica));
}
