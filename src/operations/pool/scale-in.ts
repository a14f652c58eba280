// Removes nodes of a pool that belongs to a cluster: Imago chooses them, because they are drained before they go.
import type { DrainSettings } from '../../domain/drain/fields.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { settleGone } from '../../workflow/poll-until.ts';
import type { Reading, Run } from '../common/operation.ts';
import { type OpenPool, openPool, type PoolReading, poolNodes, waiting } from '../node/pool-nodes.ts';
import { leaveService, leaveServiceAll, serviceOf } from '../node/service.ts';

type Scaling = { readonly name: string; readonly capacity: number } & DrainSettings;

/** Nodes that do not serve go first, then those of older models, then the newest ones. */
export async function readVictims(
  run: Pick<Reading<Scaling>, 'input'> & PoolReading,
): Promise<readonly string[]> {
  const { name, capacity } = run.input;
  const nodes: ProviderNode[] = [];
  for await (const node of poolNodes(await openPool(run, name), name)) {
    if (node.state !== 'deleting') nodes.push(node);
  }
  const count = Math.max(0, nodes.length - capacity);
  const free = nodes.filter(({ protection }) => !protection.fromScaleIn);
  if (free.length < count)
    throw new ImagoError(
      'provider-conflict',
      `Pool ${name} has only ${free.length} nodes that are not protected.`,
    );
  const order = (node: ProviderNode) =>
    (nodeState(node) === 'ready' ? 2 : 0) + Number(node.latestModelApplied);
  return free
    .toSorted(
      (a, b) => order(a) - order(b) || b.createdAt.localeCompare(a.createdAt) || b.name.localeCompare(a.name),
    )
    .slice(0, count)
    .map(({ name: node }) => node);
}

/** Throws `provider-conflict` if another user changes the capacity in the meantime (rule 3). */
export async function removeNodes(
  run: Run<Scaling>,
  access: OpenPool,
  before: number,
  victims: readonly string[],
): Promise<void> {
  const { pools, pool, options } = access;
  const service = await serviceOf(run, pool, run.input);
  const left = (await nodeNames(access)).filter((node) => victims.includes(node));
  await leaveServiceAll(run, service, left);
  for (const node of left) {
    const seen = await pools.getPool(pool.name, options);
    if (seen?.capacity !== before - (await countGone(access, victims)))
      throw new ImagoError('provider-conflict', `Another user changed the capacity of pool ${pool.name}.`);
    await leaveService(run, service, node);
    await pools.deleteNode(pool.name, node, options);
  }
  for (const node of victims) {
    const what = waiting(access, `The removal of node ${node}`);
    await settleGone(() => pools.getNode(pool.name, node, options), what);
  }
}

export async function countGone(access: OpenPool, victims: readonly string[]): Promise<number> {
  const left = new Set(await nodeNames(access));
  return victims.filter((node) => !left.has(node)).length;
}

/** Without nodes that are being deleted. */
export async function nodeNames(access: OpenPool): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const node of poolNodes(access, access.pool.name))
    if (node.state !== 'deleting') names.push(node.name);
  return names;
}
