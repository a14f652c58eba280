// Compares the packages of a version with the signed index of their archive, without booting it, and stores the result
// as evidence.

import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import {
  describeFreshness,
  type Freshness,
  newestFreshness,
  securityUpdates,
  withEarlier,
} from '../../domain/evidence/freshness.ts';
import * as declared from '../../domain/image/operations.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { expandOne, machineNames } from '../../domain/recipe/variables.ts';
import type { Json } from '../../domain/value/json.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { DiskPackages } from '../../ports/image-store/image-store.ts';
import type { BuilderTools } from '../../ports/provider/builder.ts';
import { type Calls, type OperationDeps, requireImages } from '../common/deps.ts';
import { operation, type Run } from '../common/operation.ts';
import { requireStored, requireVersion } from '../common/require.ts';
import { ancestorsOf } from './ancestors.ts';
import { resolveStep, resolveUsable } from './resolve-step.ts';

type Archive = Pick<Recipe, 'base' | 'architecture'>;

const compareMs = 15 * 60_000;

export const imageOutdated = operation(declared.imageOutdated, {
  async plan(run) {
    const { image, version } = await resolveUsable(run, run.input.reference);
    requireComparable(run);
    await requireStored(run, await requireVersion(run, image, version));
    return [
      `Compare the packages of ${image}:${version} with the signed index of their archive, and store the result as evidence. Nothing is booted.`,
    ];
  },
})
  .use(resolveStep)
  .step('compare', {
    timeoutMs: compareMs,
    async do(run) {
      const { image, version } = run.result('resolve');
      return addFreshness(run, await requireVersion(run, image, version));
    },
    async verify(run) {
      const all = await run.catalogue.listEvidence(run.result('resolve').digest);
      const mine = all.filter(({ operation: by }) => by === run.operation.id);
      return newestFreshness(run.result('resolve').digest, mine)?.found;
    },
  })
  .result((run) => {
    const { image, version, digest } = run.result('resolve');
    return { image, version, digest, ...run.result('compare') };
  });

type Comparing = Calls & Pick<Run, 'operation' | 'signal'>;

/** Throws `provider-lacks`, `store-not-found`, `archive-untrusted`, or `download-failed`. */
async function addFreshness(run: Comparing, version: VersionRecord): Promise<Freshness> {
  const found = await compare(run, version);
  await run.catalogue.addEvidence({
    ...{ digest: version.digest, kind: 'freshness', passed: securityUpdates(found).length === 0 },
    ...{ summary: describeFreshness(found, run.clock.now()), details: found as unknown as Json },
    ...{ by: run.operation.by, operation: run.operation.id },
  });
  return found;
}

const recentMs = 3_600_000;

/**
 * Compares again, unless that was done within an hour. If it is not possible, returns `false`, and a gate decides on
 * what is stored.
 */
export async function refreshFreshness(
  run: Comparing & Pick<Run, 'log'>,
  version: VersionRecord,
): Promise<boolean> {
  const newest = newestFreshness(version.digest, await run.catalogue.listEvidence(version.digest));
  const age = newest && run.clock.now() - Date.parse(newest.evidence.at);
  if (age !== undefined && age < recentMs) return true;
  try {
    await addFreshness(run, version);
    return true;
  } catch (thrown) {
    if (!(thrown instanceof ImagoError) || thrown.kind === 'cancelled') throw thrown;
    run.log(`The packages could not be compared with their archive: ${thrown.message}`);
    return false;
  }
}

async function compare(run: Comparing, version: VersionRecord): Promise<Freshness> {
  const { compareArchive } = requireComparable(run);
  const images = await requireStored(run, version);
  const disk = await images.records.packages(version.digest, run.signal);
  const ancestors = await ancestorsOf(run, version);
  const archive = await archiveOf(run, ancestors.at(-1) ?? version, disk);
  const installed = disk.packages.filter(({ architecture }) =>
    ['all', machineNames[archive.architecture]].includes(architecture),
  );
  const { suite, indexedAt, hasSecurity, behind, unlisted } = await compareArchive(
    archive,
    installed,
    run.call,
  );
  const earlier = await Promise.all(
    [version, ...ancestors].map(async ({ digest }) => run.catalogue.listEvidence(digest)),
  );
  const found = { suite, indexedAt, hasSecurity, packages: installed.length, behind, unlisted };
  return withEarlier(found, earlier.flat().flatMap(readOne));
}

function readOne(evidence: Evidence): readonly Freshness[] {
  const found = newestFreshness(evidence.digest, [evidence])?.found;
  return found === undefined ? [] : [found];
}

/** That of the recipe that the version was built from; else the one that the disk names. */
async function archiveOf(
  deps: OperationDeps,
  { origin, image, version }: VersionRecord,
  { distribution, system }: DiskPackages,
): Promise<Archive> {
  const lock = origin.kind === 'built' ? await requireImages(deps).locks.read(origin.lockDigest) : undefined;
  const recipe = lock && expandOne(lock.recipe);
  if (recipe !== undefined && recipe.method !== 'machine') return recipe;
  const suite = /\(([a-z]+)\)/.exec(system)?.[1];
  if (distribution === 'debian' && suite !== undefined) return { base: { suite }, architecture: 'x64' };
  throw new ImagoError(
    'provider-lacks',
    `${image}:${version} has ${system === '' ? 'an unknown system' : system}, and only packages of Debian can be compared.`,
  );
}

function requireComparable(deps: OperationDeps): BuilderTools {
  const found = deps.providers().flatMap(({ builder }) => builder?.tools ?? [])[0];
  if (found !== undefined) return found;
  throw new ImagoError('provider-lacks', 'No provider of this daemon can read the index of an archive.');
}
