import { ImagoError } from '../error/imago-error.ts';
import type { OperatingSystem } from '../image/version.ts';
import type { Resolution } from '../resolve/resolve.ts';
import { checkName, nodeSuffixLength } from '../value/name.ts';
import type { PoolImage } from './record.ts';

export type { Orchestration, PoolImage, PoolRecord, ProviderName } from './record.ts';

/** A warning in every plan that removes nodes which Imago cannot drain. */
export const noDrain = 'Nodes are not drained first: their pods stop without being evicted.';
export const drainsFirst = 'Nodes are drained first if the pool belongs to a cluster.';

/** Throws `expectation-failed` if the pool does not have the number of nodes that the caller expects. */
export function expectCapacity(pool: string, capacity: number, expect: number | undefined): void {
  if (expect === undefined || expect === capacity) return;
  throw new ImagoError('expectation-failed', `Pool ${pool} has ${capacity} nodes, not ${expect}.`);
}

/** The model's image for an answer. A channel is followed unless the pool is pinned to what it says now. */
export function poolImage(
  resolution: Resolution & Pick<PoolImage, 'base'>,
  options: { readonly pin: boolean },
): PoolImage {
  const { reference, image, version, digest, channel, move, base } = resolution;
  return {
    reference,
    ...(channel === undefined || options.pin ? {} : { follows: channel }),
    image,
    version,
    digest,
    ...(move === undefined ? {} : { move }),
    ...(base === undefined ? {} : { base }),
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
