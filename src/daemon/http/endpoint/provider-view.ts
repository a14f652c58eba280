// Combines records with the provider's current state. If the provider does not respond in time, its part is `unknown`.
import type { EndpointName, ResponseOf } from '../../../api/contract/types.ts';
import { nodeState } from '../../../domain/node/state.ts';
import { formatPortForward } from '../../../domain/pool/port-forward.ts';
import { joinedAccess } from '../../../operations/node/pool-nodes.ts';
import type { NodeRecord, PoolRecord } from '../../../ports/database/fleet.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { Pools, ProviderNode } from '../../../ports/provider/pools.ts';
import type { Call } from './call.ts';

export type PoolView = ResponseOf<'showPool'>;
export type NodeView = ResponseOf<'showNode'>;
type ProviderCall = Pick<Call<EndpointName>, 'context' | 'limits' | 'signal'>;

export async function loadPoolView(call: ProviderCall, pool: PoolRecord): Promise<PoolView> {
  const seen = await queryProvider(call, pool, (pools, options) => pools.getPool(pool.name, options));
  if (seen === 'unknown') return { ...pool, state: 'unknown' };
  if (seen === undefined) return { ...pool, state: 'missing' };
  const forwards = seen.model.forwards?.map(formatPortForward);
  return {
    ...{ ...pool, capacity: seen.capacity, state: seen.state },
    ...(forwards === undefined ? {} : { forwards }),
  };
}

/** Returns the result of `query`, or `unknown` if the provider is not loaded, fails, or takes too long. */
export async function queryProvider<T>(
  { context, limits, signal }: ProviderCall,
  pool: PoolRecord,
  query: (pools: Pools, options: CallOptions) => Promise<T>,
): Promise<T | 'unknown'> {
  const provider = context.providers.get(pool.provider);
  if (provider?.pools === undefined) return 'unknown';
  const options = { signal: AbortSignal.any([signal, AbortSignal.timeout(limits.providerMs)]), epoch: 0 };
  const clusterOf = async ({ cluster }: Pick<PoolRecord, 'cluster'>) =>
    cluster === undefined ? undefined : context.clusters?.open(cluster);
  try {
    const access = { provider, pools: provider.pools, options };
    return await query((await joinedAccess({ clusterOf }, access, pool.cluster)).pools, options);
  } catch {
    signal.throwIfAborted();
    return 'unknown';
  }
}

/** Combines the record with the provider's node; `undefined` if it does not exist, `unknown` without a response. */
export function nodeView(record: NodeRecord, seen: ProviderNode | undefined | 'unknown'): NodeView {
  if (record.goneAt !== undefined) return { ...record, power: 'stopped', state: 'gone' };
  if (seen === 'unknown') return { ...record, power: 'unknown', state: 'unknown' };
  if (seen === undefined) return { ...record, power: 'stopped', state: 'missing' };
  // A node that stops still runs, and one that starts does not run yet.
  const running = seen.power === 'running' || seen.power === 'stopping';
  const { forwards, address, health, trouble, error } = seen;
  return {
    ...{ ...record, power: running ? 'running' : 'stopped', state: nodeState(seen) },
    ...(health === undefined ? {} : { health }),
    ...(trouble === undefined ? {} : { trouble }),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
    ...(address === undefined ? {} : { address }),
    ...(forwards === undefined ? {} : { forwards: forwards.map((one) => ({ ...one })) }),
  };
}
