// Copies of a version in regions: which are asked for, when each begins and ends, and what is tried again.
import type { RegionTarget } from '../../../ports/provider/gallery.ts';
import { checkLimit, invalid, lacks } from '../../common/refusals.ts';
import { type CopyRow, copiesOf, copyState, copyUnderWay, type VersionRow } from '../state/version-rows.ts';
import type { Bend } from '../world/call.ts';
import type { SimContext } from '../world/context.ts';

type VersionKey = Pick<VersionRow, 'gallery' | 'image' | 'version'>;

/** The regions as they will be, the gallery's own first. */
export function checkRegions(
  context: SimContext,
  home: string,
  regions: readonly RegionTarget[],
): readonly RegionTarget[] {
  if (regions.length === 0) return [{ region: home, replicas: 1 }];
  if (context.abilities.regions.length === 0) throw lacks('The provider has no regions to copy versions to.');
  const names = regions.map((target) => target.region);
  for (const target of regions) checkTarget(context, target);
  if (new Set(names).size < names.length) throw invalid(`A region is named twice: ${names.join(', ')}.`);
  if (!names.includes(home)) throw invalid(`The gallery's own region ${home} must be among the regions.`);
  const replicas = regions.reduce((sum, target) => sum + target.replicas, 0);
  checkLimit('replicas of a version', replicas, context.limits.replicasPerVersion);
  return [...regions].sort((a, b) => Number(b.region === home) - Number(a.region === home));
}

function checkTarget({ abilities }: SimContext, { region, replicas, excludeFromLatest }: RegionTarget): void {
  if (!abilities.regions.includes(region)) throw invalid(`The provider has no region ${region}.`);
  if (!Number.isInteger(replicas) || replicas < 1) {
    throw invalid(`Region ${region} must have at least 1 replica, not ${replicas}.`);
  }
  if (excludeFromLatest !== undefined && !abilities.excludeFromLatest) {
    throw lacks('The provider cannot take a version out of its own latest.');
  }
}

/** Writes the regions that a version is to be in. New ones begin, and those that failed begin again. */
export function placeCopies(
  context: SimContext,
  key: VersionKey,
  targets: readonly RegionTarget[],
  bend: Bend,
): void {
  const { world } = context;
  const now = world.time();
  const before = new Map(copiesOf(world, key).map((copy) => [copy.region, copy]));
  let source: Pick<CopyRow, 'readyAt' | 'errorCode'> = { readyAt: now, errorCode: null };
  for (const [position, target] of targets.entries()) {
    const known = before.get(target.region);
    const keeps = known !== undefined && (copyState(known, now) === 'ready' || copyUnderWay(known, now));
    const copy = keeps ? known : newCopy(context, key, target.region, position, source, bend);
    if (position === 0) source = copy;
    world.run(
      `INSERT OR REPLACE INTO regionCopy VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key.gallery,
      key.image,
      key.version,
      target.region,
      position,
      target.replicas,
      target.excludeFromLatest === undefined ? null : Number(target.excludeFromLatest),
      known?.addedAt ?? now,
      copy.startsAt,
      copy.readyAt,
      copy.errorCode,
      copy.errorMessage,
    );
    before.delete(target.region);
  }
  for (const region of before.keys()) {
    world.run(
      'DELETE FROM regionCopy WHERE gallery = ? AND image = ? AND version = ? AND region = ?',
      key.gallery,
      key.image,
      key.version,
      region,
    );
  }
}

/** The first copy begins now, the others when it is whole; never, when it is going to fail. */
function newCopy(
  context: SimContext,
  key: VersionKey,
  region: string,
  position: number,
  source: Pick<CopyRow, 'readyAt' | 'errorCode'>,
  bend: Bend,
): Pick<CopyRow, 'startsAt' | 'readyAt' | 'errorCode' | 'errorMessage'> {
  if (source.readyAt === null || source.errorCode !== null) {
    return { startsAt: null, readyAt: null, errorCode: null, errorMessage: null };
  }
  const startsAt = Math.max(context.world.time(), source.readyAt);
  const name = `${key.gallery}/${key.image}/${key.version}/${region}`;
  const took = context.durationOf(position === 0 ? 'versionCreate' : 'regionAdd', name) * bend.factor;
  const failure = bend.failure;
  const fails = failure !== undefined && (failure.region ?? region) === region;
  return {
    startsAt,
    readyAt: startsAt + Math.round(took),
    errorCode: fails ? failure.code : null,
    errorMessage: fails ? failure.message : null,
  };
}

/** The regions as they are asked for now. */
export function currentTargets(copies: readonly CopyRow[]): readonly RegionTarget[] {
  return copies.map(({ region, replicas, excludeFromLatest }) => ({
    region,
    replicas,
    ...(excludeFromLatest === null ? {} : { excludeFromLatest: excludeFromLatest === 1 }),
  }));
}
