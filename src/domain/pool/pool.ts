import { ImagoError } from '../error/imago-error.ts';
import type { OperatingSystem } from '../image/version.ts';
import type { Resolution } from '../resolve/resolve.ts';
import { checkName, nodeSuffixLength } from '../value/name.ts';

export const providerNames = ['local', 'azure', 'sim'] as const;
export type ProviderName = (typeof providerNames)[number];

export const orchestrations = ['uniform', 'flexible'] as const;
export type Orchestration = (typeof orchestrations)[number];

/** What new nodes of a pool are made from, and which reference and channel move said so. */
export interface PoolImage {
  /** What was asked for, e.g. `node:production`. */
  readonly reference: string;
  /** The channel that new nodes follow; absent when a version was given or the pool is pinned. */
  readonly follows?: string;
  readonly image: string;
  /** The exact version that the model holds, and the channel move that answered it. */
  readonly version: string;
  readonly digest: string;
  readonly move?: number;
}

export interface PoolRecord extends PoolImage {
  readonly name: string;
  readonly provider: ProviderName;
  readonly orchestration: Orchestration;
  readonly region?: string;
  readonly size: string;
  readonly nodeConfig: string;
  readonly createdAt: string;
}

/** A warning in every plan and help that removes nodes, as long as Imago does not drain them. */
export const noDrain = 'Nodes are not drained first: their pods stop without being evicted.';

/** Throws `expectation-failed` if the pool does not have the number of nodes that the caller expects. */
export function expectCapacity(pool: string, capacity: number, expect: number | undefined): void {
  if (expect === undefined || expect === capacity) return;
  throw new ImagoError('expectation-failed', `Pool ${pool} has ${capacity} nodes, not ${expect}.`);
}

/** The model's image for an answer. A channel is followed unless the pool is pinned to what it says now. */
export function poolImage(resolution: Resolution, options: { readonly pin: boolean }): PoolImage {
  const { reference, image, version, digest, channel, move } = resolution;
  return {
    reference,
    ...(channel === undefined || options.pin ? {} : { follows: channel }),
    image,
    version,
    digest,
    ...(move === undefined ? {} : { move }),
  };
}

/** Windows knows computers by 15 characters: its pools leave room for their nodes' numbers within them. */
const windowsNameLength = 15 - nodeSuffixLength;

/** Throws `name-malformed`. */
export function checkPoolName(name: string, os: OperatingSystem): string {
  checkName('pool', name);
  if (os === 'linux' || name.length <= windowsNameLength) return name;
  throw new ImagoError(
    'name-malformed',
    `The pool name ${name} has ${name.length} characters, and ${windowsNameLength} are allowed for Windows.`,
    { hint: 'Windows computer names have at most 15 characters, and 7 of them number the node.' },
  );
}

/**
 * What an undo sets the capacity back to. `undefined` when it is not what we had set any more: someone else
 * changed it since, and that is never overwritten (rule 3).
 */
export function capacityToRestore(capacity: {
  readonly before: number;
  readonly ours: number;
  readonly now: number;
}): number | undefined {
  if (capacity.now !== capacity.ours || capacity.before === capacity.ours) return undefined;
  return capacity.before;
}
