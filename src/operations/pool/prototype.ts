// What new nodes of a pool are created from: the version that was requested, or the prototype that overlays it.
import { choosePrototype, type PrototypeCandidate, prototypeLine } from '../../domain/capture/prototype.ts';
import type { PoolImage, PoolRecord } from '../../domain/pool/record.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { resolveUsable } from '../image/resolve-step.ts';

type Deps = Pick<OperationDeps, 'catalogue' | 'fleet'>;

/** With `base`, image and version are those of a prototype. */
export type ModelResolution = Resolution & Pick<PoolImage, 'base'>;

/** Resolves as `resolveUsable` does. A pool that follows the channel gets the newest prototype it accepted for it. */
export async function resolveModel(
  deps: Deps,
  pool: Pick<PoolRecord, 'name' | 'createdAt'>,
  { reference, pin }: { readonly reference: string; readonly pin: boolean },
): Promise<ModelResolution> {
  const resolution = await resolveUsable(deps, reference);
  const { channel, image, version, digest } = resolution;
  if (pin || channel === undefined) return resolution;
  const candidates = await readCandidates(deps, pool);
  const found = choosePrototype(candidates, { pool: pool.name, channel, base: digest });
  if (found === undefined) return resolution;
  const prototype = { image: found.image, version: found.version, digest: found.digest, state: found.state };
  return { ...resolution, ...prototype, base: { image, version, digest } };
}

/** Those of an earlier pool with the same name are not its own. */
async function readCandidates(
  { catalogue, fleet }: Deps,
  { name, createdAt }: Pick<PoolRecord, 'name' | 'createdAt'>,
): Promise<readonly PrototypeCandidate[]> {
  const line = prototypeLine(name);
  if ((await catalogue.getImage(line)) === undefined) return [];
  const found: PrototypeCandidate[] = [];
  for await (const version of allPages((query) => catalogue.listVersions(line, query))) {
    if (version.state !== 'available' || version.createdAt < createdAt) continue;
    const evidence = await catalogue.listEvidence(version.digest);
    const isBad = (await fleet.findBadVersion(name, version.digest)) !== undefined;
    found.push({ version, evidence, isBad });
  }
  return found;
}
