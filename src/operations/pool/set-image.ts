// Changes what new nodes of a pool are created from. Existing nodes stay as they are: they move only through a rollout.
import { requireOwnPrototype } from '../../domain/capture/prototype.ts';
import { readStoredConfig } from '../../domain/node-config/stored-config.ts';
import * as declared from '../../domain/pool/operations.ts';
import { poolImage } from '../../domain/pool/pool.ts';
import type { PoolImage } from '../../domain/pool/record.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import { refuseMixing } from '../common/deps.ts';
import { operation, type Reading } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { publishStep } from '../gallery/copy-version.ts';
import { requireStillUsable } from '../image/resolve-step.ts';
import { openPool, recordPoolNodes, requirePool } from '../node/pool-nodes.ts';
import { requireImageAbilities } from '../node-config/check-image.ts';
import { poolModel } from './create.ts';
import { resolveModel } from './prototype.ts';

/** The audit has what new nodes were created from. */
export async function beforeChange(run: Reading<{ readonly name: string }>) {
  const { reference, follows, image, version, digest, move, base } = await requirePool(run, run.input.name);
  return { before: { reference, follows, image, version, digest, move, base } };
}

/** Throws if the pool cannot have the version. */
async function requireFits(run: Reading, pool: PoolRecord, version: Resolution): Promise<void> {
  await requireImageAbilities(run, version, readStoredConfig(pool.nodeConfig));
  refuseMixing(run.provider(pool.provider), version);
  requireOwnPrototype(pool.name, await requireVersion(run, version.image, version.version));
}

export const poolSetImage = operation(declared.poolSetImage, {
  prepare: beforeChange,
  async plan(run) {
    const { name } = run.input;
    const pool = await requirePool(run, name);
    const version = await resolveModel(run, pool, run.input);
    await requireFits(run, pool, version);
    const { base } = version;
    return [
      `Create new nodes of pool ${name} from ${version.image}:${version.version} instead of ${pool.image}:${pool.version}; existing nodes stay.`,
      ...(base === undefined ? [] : [`It is the prototype that overlays ${base.image}:${base.version}.`]),
    ];
  },
})
  .step('resolve', async (run) => resolveModel(run, await requirePool(run, run.input.name), run.input))
  .use(publishStep(async (run) => (await requirePool(run, run.input.name)).provider))
  .step('remember', async (run) => {
    const { pool, ...access } = await openPool(run, run.input.name);
    await requireFits(run, pool, run.result('resolve'));
    await recordPoolNodes(run, access, pool);
    return pool;
  })
  .step('model', {
    async do(run) {
      await requireStillUsable(run, run.result('resolve'));
      await writeModel(run, run.result('remember'), run.result('resolve'));
    },
    async verify(run) {
      const { pools } = await openPool(run, run.input.name);
      const seen = await pools.getPool(run.input.name, run.call);
      return seen?.model.digest === run.result('resolve').digest ? null : undefined;
    },
    undo: (run) => writeModel(run, run.result('remember'), run.result('remember')),
  })
  .step('record', {
    async do(run) {
      const image = poolImage(run.result('resolve'), run.input);
      const { name, image: line, version, digest } = await run.fleet.setPoolModel(run.input.name, image);
      return { name, image: line, version, digest };
    },
    async undo(run) {
      await run.fleet.setPoolModel(run.input.name, run.result('remember'), { back: true });
    },
  });

/** Puts back what new nodes were created from before. A second call has no effect. */
export async function restoreModel(run: Reading, pool: PoolRecord, image: PoolImage): Promise<void> {
  await writeModel(run, pool, image);
  await run.fleet.setPoolModel(pool.name, image, { back: true });
}

async function writeModel(
  run: Reading,
  pool: PoolRecord,
  version: Pick<PoolRecord, 'image' | 'version' | 'digest'>,
): Promise<void> {
  const { pools } = await openPool(run, pool.name);
  const seen = await pools.getPool(pool.name, run.call);
  if (seen === undefined || seen.model.digest === version.digest) return;
  const { forwards } = seen.model;
  const model = { ...(await poolModel(run, pool, version)), ...(forwards && { forwards }) };
  await pools.setModel(pool.name, model, { ifMatch: seen.etag }, run.call);
}
