// Nodes and the record of what each was made from: version, digest, the reference that was asked for and the
// channel move that answered it (rule 6).
import type { ChannelMove } from '../channel/channel.ts';
import { ImagoError } from '../error/imago-error.ts';
import { parseReference } from '../image/reference.ts';
import type { PoolImage } from '../pool/pool.ts';
import { nodeSuffixLength } from '../value/name.ts';
import type { NodeRecord } from './record.ts';

/** What the firmware of a machine that Imago runs on a host says it is; its images open doors to their owner by it. */
export const localMachineProduct = 'Imago local machine';

export type { NodeRecord } from './record.ts';

/** What was asked for, and which move of which channel answered it. */
export type NodeAnswer = Pick<NodeRecord, 'reference' | 'channel' | 'move'>;

/**
 * Which request a node's version answers. A node that was made just before its pool's model changed carries the
 * version of an earlier move of the followed channel; one that fits nothing was made from its exact version.
 * Times play no part: a provider's clock is not ours.
 */
export function nodeAnswer(
  node: Pick<NodeRecord, 'image' | 'version'>,
  pool: PoolImage,
  moves: readonly ChannelMove[],
): NodeAnswer {
  const exact = { reference: `${node.image}:${node.version}` };
  if (node.image !== pool.image) return exact;
  const asked = parseReference(pool.reference);
  const channel = asked.kind === 'channel' ? asked.channel : undefined;
  if (node.version === pool.version) {
    return {
      reference: pool.reference,
      ...(channel === undefined ? {} : { channel }),
      ...(pool.move === undefined ? {} : { move: pool.move }),
    };
  }
  if (channel === undefined) return exact;
  const answered = moves.filter(
    (move) => move.image === pool.image && move.channel === channel && move.to === node.version,
  );
  if (answered.length === 0) return exact;
  return { reference: pool.reference, channel, move: Math.max(...answered.map(({ id }) => id)) };
}

const suffixDigits = nodeSuffixLength - 1;

/** `web-00000a`: the pool's name and a number in base 36, padded so that names sort in the order of numbers. */
export function nodeName(pool: string, index: number): string {
  if (!Number.isInteger(index) || index < 0 || index >= 36 ** suffixDigits) {
    throw new ImagoError('internal', `${index} is no node number.`);
  }
  return `${pool}-${index.toString(36).padStart(suffixDigits, '0')}`;
}
