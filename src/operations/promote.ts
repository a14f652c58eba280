// Promotion: moves a channel to a version. What was tested is what moves; nothing is rebuilt (D8, rule 4).
import * as z from 'zod';
import { checkMove } from '../domain/channel.ts';
import { ImagoError } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import type { ChannelMove } from '../ports/catalogue.ts';
import type { OperationKind, WorkStep } from '../ports/operation.ts';
import type { OperationDeps } from './deps.ts';
import { parseInput } from './parse-input.ts';
import { resolved, resolveStep, resolveUsable } from './resolve-step.ts';

const promoteInput = z.object({
  reference: z.string(),
  channel: z.string(),
  why: z.string().min(1),
  expect: z.string().nullable().optional(),
});
export type PromoteInput = z.infer<typeof promoteInput>;

export function promoteOperation(deps: OperationDeps): OperationKind<PromoteInput> {
  return {
    kind: 'promote',
    parse: (input) => parseInput(promoteInput, input),
    async plan({ reference, channel }) {
      const version = await resolveUsable(deps, reference);
      const target = await deps.catalogue.getChannel(version.image, channel);
      if (target === undefined) throw channelMissing(version.image, channel);
      checkMove(target, version);
      if (target.version === version.version)
        return [`${version.image}:${channel} points at ${version.version} already.`];
      const pools = await deps.fleet.listFollowers(version.image, channel);
      return [
        `Move ${version.image}:${channel} from ${target.version ?? 'nothing'} to ${version.version} (${version.digest}).`,
        ...pools.map(
          (pool) => `New nodes of pool ${pool.name} come from ${version.version}; existing nodes stay.`,
        ),
      ];
    },
    steps: () => [resolveStep<PromoteInput>(deps), moveStep(deps)],
  };
}

function moveStep(deps: OperationDeps): WorkStep<PromoteInput> {
  return {
    name: 'move',
    async do(context) {
      const { image, version } = resolved(context);
      const { channel, why, expect } = context.input;
      const move = await deps.catalogue.moveChannel({
        image,
        channel,
        to: version,
        ...(expect === undefined ? {} : { expect }),
        by: context.operation.by,
        why,
        operation: context.operation.id,
      });
      return moved(move);
    },
    async verify(context) {
      const { image, version } = resolved(context);
      const channel = await deps.catalogue.getChannel(image, context.input.channel);
      if (channel?.version !== version || channel.move === undefined) return undefined;
      return { image, channel: channel.name, version, digest: channel.digest ?? null, move: channel.move };
    },
  };
}

export function moved(move: ChannelMove): Json {
  return { image: move.image, channel: move.channel, version: move.to, digest: move.toDigest, move: move.id };
}

export function channelMissing(image: string, channel: string): ImagoError {
  return new ImagoError('channel-not-found', `Image ${image} has no channel ${channel}.`, {
    hint: `See \`imago channel list ${image}\`.`,
  });
}
