// Copies of a version in regions: which are asked for, when each starts and ends, and what is retried.

import { checkLimit, invalid, lacks } from '../../domain/error/refusals.ts';
import type { RegionTarget } from '../../ports/provider/gallery.ts';
import type { Bend, Cloud } from '../state/cloud.ts';
import type { CopyRow, VersionKey } from '../state/rows.ts';
import { copiesOf, copyState, isInProgress } from '../state/version-rows.ts';

/** Returns the regions as they will be, the gallery's own first. */
export function checkRegions(
  cloud: Cloud,
  home: string,
  regions: readonly RegionTarget[],
): readonly RegionTarget[] {
  if (regions.length === 0) return [{ region: home, replicas: 1 }];
  if (cloud.abilities.regions.length === 0) throw lacks('The provider has no regions to copy versions to.');
  const names = regions.map((target) => target.region);
  for (const target of regions) checkTarget(cloud, target);
  if (new Set(names).size < names.length) throw invalid(`A region is named twice: ${names.join(', ')}.`);
  if (!names.includes(home)) throw invalid(`The gallery's own region ${home} must be among the regions.`);
  const replicas = regions.reduce((sum, target) => sum + target.replicas, 0);
  checkLimit('replicas of a version', replicas, cloud.limits.replicasPerVersion);
  return [...regions].sort((a, b) => Number(b.region === home) - Number(a.region === home));
}

function checkTarget({ abilities }: Cloud, { region, replicas, excludeFromLatest }: RegionTarget): void {
  if (!abilities.regions.includes(region)) throw invalid(`The provider has no region ${region}.`);
  if (!Number.isInteger(replicas) || replicas < 1) {
    throw invalid(`Region ${region} must have at least 1 replica, not ${replicas}.`);
  }
  if (excludeFromLatest !== undefined && !abilities.excludeFromLatest) {
    throw lacks('The provider cannot exclude a version from its own latest.');
  }
}

/** Writes the regions that a version is to be in. New copies start, and those that failed start again. */
export function placeCopies(
  cloud: Cloud,
  { gallery, image, version }: VersionKey,
  targets: readonly RegionTarget[],
  bend: Bend,
): void {
  const { world } = cloud;
  const now = world.time();
  const key = { gallery, image, version };
  const before = copiesOf(world, key);
  world.run(
    'DELETE FROM regionCopy WHERE gallery = ? AND image = ? AND version = ?',
    gallery,
    image,
    version,
  );
  let source: CopyRow | undefined;
  for (const [position, target] of targets.entries()) {
    const known = before.find(({ region }) => region === target.region);
    const keeps = known !== undefined && (copyState(known, now) === 'ready' || isInProgress(known, now));
    const { region, replicas, excludeFromLatest } = target;
    const copy: CopyRow = {
      ...key,
      ...{ region, position, replicas },
      excludeFromLatest: excludeFromLatest === undefined ? null : Number(excludeFromLatest),
      addedAt: known?.addedAt ?? now,
      ...(keeps ? progressOf(known) : newCopy(cloud, key, region, source, bend)),
    };
    source ??= copy;
    world.insert('regionCopy', copy);
  }
}

type Progress = Pick<CopyRow, 'startsAt' | 'readyAt' | 'errorCode' | 'errorMessage'>;

function progressOf({ startsAt, readyAt, errorCode, errorMessage }: CopyRow): Progress {
  return { startsAt, readyAt, errorCode, errorMessage };
}

/** The first copy starts now, the others when it is complete; never, if it is going to fail. */
function newCopy(
  { world, executor }: Cloud,
  key: VersionKey,
  region: string,
  source: CopyRow | undefined,
  bend: Bend,
): Progress {
  const now = world.time();
  const name = `${key.gallery}/${key.image}/${key.version}/${region}`;
  if (source !== undefined && (source.readyAt === null || source.errorCode !== null)) {
    return { startsAt: null, readyAt: null, errorCode: null, errorMessage: null };
  }
  const startsAt = Math.max(now, source?.readyAt ?? now);
  const end = executor.endOf(source === undefined ? 'versionCreate' : 'regionAdd', name, bend);
  const failure = (bend.failure?.region ?? region) === region ? bend.failure : undefined;
  const unknown = failure === undefined ? null : now;
  return {
    startsAt,
    readyAt: end === null ? unknown : end + startsAt - now,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
  };
}

/** Returns the regions as they are asked for now. */
export function currentTargets(copies: readonly CopyRow[]): readonly RegionTarget[] {
  return copies.map(({ region, replicas, excludeFromLatest }) => ({
    region,
    replicas,
    ...(excludeFromLatest === null ? {} : { excludeFromLatest: excludeFromLatest === 1 }),
  }));
}
