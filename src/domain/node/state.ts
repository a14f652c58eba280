// Derives the state of a node, so that lists, counts, and operations agree on which nodes are ready.

/** The part of a provider's node that decides its state. */
export interface NodeCondition<Provisioning extends string> {
  /** Provisioning alone: `ready` only means that the provider has nothing left to do. */
  readonly state: Provisioning;
  readonly power: 'starting' | 'running' | 'stopping' | 'stopped';
  /** Absent if the provider does not carry reports of the node's agent. */
  readonly health?: 'unknown' | 'healthy' | 'unhealthy';
  /** Why it is not healthy although it runs. */
  readonly trouble?: string;
}

export type PowerState = 'starting' | 'stopping' | 'stopped' | 'unhealthy' | 'unknown';

/**
 * Returns `ready` only for a node that is provisioned, runs, and whose agent reported that it is ready since it
 * booted. A node that just boots is `starting`; one whose agent is silent for too long is `unknown`.
 */
export function nodeState<Provisioning extends string>(
  node: NodeCondition<Provisioning>,
): Provisioning | PowerState {
  const { state, power, health, trouble } = node;
  if (state !== 'ready') return state;
  if (power !== 'running') return power;
  if (health === 'unhealthy') return 'unhealthy';
  if (health === 'unknown') return trouble === undefined ? 'starting' : 'unknown';
  return state;
}
