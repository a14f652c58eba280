// What is signed about a channel's move: the predicate of an in-toto statement whose subject is the version's digest.

import type { Evidence } from '../evidence/evidence.ts';
import type { ComposedRecord } from '../evidence/tested-combination.ts';
import type { Json } from '../value/json.ts';
import type { ChannelMove } from './channel.ts';

/** The meaning of the fields never changes under this name. */
export const movePredicateType = 'urn:imago:channel-move:v1';

/** Of the evidence only what the gates were decided on is told, without its details. */
export function moveStatement(
  move: ChannelMove,
  evidence: readonly Evidence[],
  composed: ComposedRecord | undefined,
  simulated = false,
): Json {
  const { policy } = move;
  const used = new Set(policy?.gates.flatMap((gate) => gate.evidence ?? []));
  return {
    move: move.id,
    image: move.image,
    channel: move.channel,
    from: move.from ?? null,
    to: move.to ?? null,
    digest: move.toDigest ?? null,
    ...(simulated ? { simulated } : {}),
    by: move.by,
    why: move.why,
    at: move.at,
    operation: move.operation ?? null,
    policy: policy === undefined ? null : plain(policy),
    evidence: evidence
      .filter(({ id }) => used.has(id))
      .map(({ id, kind, passed, summary, by, at }) => ({ id, kind, passed, summary, by, at })),
    composed: composed === undefined ? null : plain(composed),
  };
}

function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
