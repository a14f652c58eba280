// Creates a pool from a version or a channel. Its model holds an exact version from the first moment.
import { requireOwnPrototype } from '../../domain/capture/prototype.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readStoredConfig, storedText } from '../../domain/node-config/stored-config.ts';
import * as declared from '../../domain/pool/operations.ts';
import { checkPoolName, poolImage } from '../../domain/pool/pool.ts';
import { parsePortForward } from '../../domain/pool/port-forward.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { PoolModel } from '../../ports/provider/pools.ts';
import { type Calls, type OperationDeps, refuseMixing } from '../common/deps.ts';
import { operation, type Reading } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { publishStep } from '../gallery/copy-version.ts';
import { requireStillUsable, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { dropFromCluster, joinedConfig } from '../node/join.ts';
import {
  joinedAccess,
  type PoolAccess,
  poolAccess,
  readyPool,
  recordPoolNodes,
  waitForPool,
  waitForPoolGone,
} from '../node/pool-nodes.ts';
import { requireImageAbilities } from '../node-config/check-image.ts';
import { renderText } from '../node-config/text.ts';
import { clusterName } from './set-cluster.ts';

interface NewPool {
  readonly name: string;
  readonly provider?: string | undefined;
  readonly size: string;
  readonly nodeConfig: string;
  readonly cluster?: string | undefined;
  readonly forwards: readonly string[];
}

export const poolCreate = operation(declared.poolCreate, {
  async plan(run) {
    const { input } = run;
    const version = await resolveUsable(run, input.reference);
    await requireFree(run, version);
    const { cluster, nodeConfig } = await completeConfig(run);
    await renderText(run, readStoredConfig(nodeConfig), { pool: input.name });
    const { follows } = poolImage(version, input);
    const warning = warningOf(version);
    return [
      `Create pool ${input.name} with ${input.capacity} nodes from ${version.image}:${version.version} (${version.digest}).`,
      follows === undefined
        ? 'New nodes keep using this version.'
        : `New nodes follow ${version.image}:${follows}.`,
      ...(cluster === undefined ? [] : [`Its nodes belong to cluster ${cluster}.`]),
      ...(nodeConfig === input.nodeConfig ? [] : ['Imago gives them what they need to join it.']),
      ...(warning === undefined ? [] : [`Warning: ${warning}`]),
    ];
  },
})
  .use(resolveStep)
  .step('config', (run) => completeConfig(run))
  // From here on, whatever has the name was created by this operation.
  .step('name', (run) => requireFree(run, run.result('resolve')))
  .use(publishStep((run) => run.input.provider))
  .step('create', {
    async do(run) {
      const { name, capacity, orchestration, region, forwards } = run.input;
      const access = await openNew(run);
      const { nodeConfig } = run.result('config');
      await requireStillUsable(run, run.result('resolve'));
      const model = {
        ...(await poolModel(run, { ...run.input, nodeConfig }, run.result('resolve'))),
        ...(forwards.length > 0 && { forwards: forwards.map(parsePortForward) }),
      };
      const spec = { name, orchestration, capacity, model, ...(region !== undefined && { region }) };
      await access.pools.createPool(spec, run.call);
      await waitForPool(access, name, capacity, run);
      return { nodes: capacity };
    },
    async verify(run) {
      const { name, capacity } = run.input;
      return (await readyPool(await openNew(run), name, capacity)) && { nodes: capacity };
    },
    async undo(run) {
      const access = await openNew(run);
      const { name } = run.input;
      await access.pools.deletePool(name, run.call);
      await waitForPoolGone(access, name);
      await dropFromCluster(run, access, { name, cluster: run.result('config').cluster });
    },
  })
  .step('record', {
    async do(run) {
      const { name, orchestration, region, size } = run.input;
      const access = await openNew(run);
      const { cluster, nodeConfig } = run.result('config');
      const pool = await run.fleet.addPool({
        ...{ name, provider: access.provider.name, orchestration, size, nodeConfig },
        ...(region !== undefined && { region }),
        ...(cluster !== undefined && { cluster }),
        ...poolImage(run.result('resolve'), run.input),
      });
      const { count } = await recordPoolNodes(run, access, pool);
      const { image, version, digest } = pool;
      const warning = warningOf(run.result('resolve'));
      return { name, image, version, digest, nodes: count, ...(warning !== undefined && { warning }) };
    },
    undo: (run) => run.fleet.removePool(run.input.name),
  });

interface Completed {
  readonly cluster?: string;
  /** With what its nodes need to join the cluster, in its stored form. */
  readonly nodeConfig: string;
}

/** Throws if the pool cannot belong to the cluster, or the cluster does not respond. */
async function completeConfig(run: Reading<NewPool>): Promise<Completed> {
  const { provider } = poolAccess(run, run.input.provider);
  const cluster = await clusterName(run, provider, run.input.cluster);
  const config = await joinedConfig(run, provider, cluster, readStoredConfig(run.input.nodeConfig));
  return { nodeConfig: storedText(config), ...(cluster !== undefined && { cluster }) };
}

type Creating = Calls & {
  readonly input: NewPool;
  result(step: 'config'): Completed;
};

function openNew(run: Creating): Promise<PoolAccess> {
  return joinedAccess(run, poolAccess(run, run.input.provider), run.result('config').cluster);
}

/** Throws if the pool cannot be created: the name is taken, or the image or the provider cannot do what it needs. */
async function requireFree(run: Reading<NewPool>, version: Resolution): Promise<void> {
  const { name, forwards, nodeConfig } = run.input;
  await requireImageAbilities(run, version, readStoredConfig(nodeConfig));
  const image = await run.catalogue.getImage(version.image);
  requireOwnPrototype(name, await requireVersion(run, version.image, version.version));
  checkPoolName(name, image?.os ?? 'linux');
  if ((await run.fleet.getPool(name)) !== undefined) {
    throw new ImagoError('pool-exists', `Pool ${name} already exists.`, {
      hint: `Change it with \`imago pool scale ${name}\` or \`imago pool set-image ${name}\`.`,
    });
  }
  const { provider, pools } = poolAccess(run, run.input.provider);
  refuseMixing(provider, version);
  pools.checkSize?.(run.input.size, { architecture: image?.architecture ?? 'x64' });
  if (forwards.length > 0 && provider.abilities.forwards !== true) {
    throw new ImagoError('provider-lacks', `Provider ${provider.name} does not forward ports to its nodes.`);
  }
  if ((await pools.getPool(name, run.call)) === undefined) return;
  throw new ImagoError(
    'pool-exists',
    `Provider ${provider.name} has a pool ${name} that Imago did not create.`,
    { hint: 'Choose another name; Imago does not change what it did not create.' },
  );
}

/** The model with the config that nodes read, including secrets: the pool's record only names them. */
export async function poolModel(
  deps: OperationDeps,
  pool: { readonly name: string; readonly size: string; readonly nodeConfig: string },
  { image, version, digest }: Pick<Resolution, 'image' | 'version' | 'digest'>,
): Promise<PoolModel> {
  const nodeConfig = await renderText(deps, readStoredConfig(pool.nodeConfig), { pool: pool.name });
  return { image, version, digest, size: pool.size, nodeConfig, tags: { 'imago-digest': digest } };
}

function warningOf({ image, version, state }: Resolution): string | undefined {
  if (state !== 'candidate') return undefined;
  return `${image}:${version} is a candidate: it has not passed its tests.`;
}
