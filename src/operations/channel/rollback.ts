// Moves a channel back to its previous version, as a new move: history is never rewritten. It checks no gates, because
// it is the way out of an outage. It names the version that the channel leaves, so that a repeat goes no further back.
import * as z from 'zod';
import {
  type ChannelRecord,
  checkPointer,
  fitToReturn,
  type ReturnFit,
  wayBack,
} from '../../domain/channel/channel.ts';
import { earlierVersions, returnedFrom } from '../../domain/channel/log.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestTest } from '../../domain/evidence/evidence.ts';
import { channelEmpty } from '../../domain/resolve/resolve.ts';
import type { ChannelMove } from '../../ports/database/catalog.ts';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { latestStep, planLatest, untold } from '../gallery/sync-latest.ts';
import { attestMoveStep } from './attest-move.ts';
import { copiesStep, planCopies } from './copies.ts';
import { channelMissing, type Moved, moved, requireVersion } from './promote.ts';

const rollbackInput = z.object({
  image: z.string(),
  channel: z.string(),
  /** The version that the channel leaves; absent only in operations that an older Imago started. */
  from: z.string().optional(),
  why: z.string().trim().min(1, 'must not be empty'),
});
export type RollbackChannelInput = z.infer<typeof rollbackInput>;

interface Target {
  readonly from: string;
  readonly to: string;
  /** The channel has left `from` already: nothing moves. */
  readonly repeated: boolean;
}

export function rollbackChannelOperation(deps: OperationDeps): OperationKind<RollbackChannelInput> {
  return {
    kind: 'rollback-channel',
    parse: (input) => parseInput(rollbackInput, input),
    /** Other work on the image does not delay it. */
    key: ({ image, channel }) => `rollback/${image}:${channel}`,
    async plan(input) {
      const { image, channel } = input;
      const { from, to, repeated } = await findTarget(deps, input);
      if (repeated) return [`${image}:${channel} already went back from ${from} to ${to}.`];
      const copies = await planCopies(deps, channel, await requireVersion(deps, image, to));
      const latest = await planLatest(deps, { image, channel }, to);
      return [`Move ${image}:${channel} from ${from} back to ${to}.`, ...copies, ...latest];
    },
    steps: () => [
      targetStep(deps),
      copiesStep<RollbackChannelInput>(deps, (context) =>
        requireVersion(deps, context.input.image, requireResult<Target>(context, 'target').to),
      ),
      moveStep(deps),
      latestStep<RollbackChannelInput>(deps, async ({ input }) => [input]),
      // Last: keys that do not work never stand in the way of going back.
      attestMoveStep<RollbackChannelInput>(deps, 'move'),
    ],
    result: (context) => ({ ...requireResult<Moved>(context, 'move'), ...untold(context) }),
  };
}

function targetStep(deps: OperationDeps): WorkStep<RollbackChannelInput> {
  return {
    name: 'target',
    async do(context) {
      return { ...(await findTarget(deps, context.input)) };
    },
  };
}

function moveStep(deps: OperationDeps): WorkStep<RollbackChannelInput> {
  return {
    name: 'move',
    async do(context) {
      const { from, to } = requireResult<Target>(context, 'target');
      const { image, channel, why } = context.input;
      const { id: operation, by } = context.operation;
      return moved(
        await deps.catalogue.moveChannel({
          image,
          channel,
          to,
          expect: from,
          back: true,
          by,
          why,
          operation,
        }),
      );
    },
    async verify(context) {
      const { to } = requireResult<Target>(context, 'target');
      const { image, channel } = context.input;
      const now = await deps.catalogue.getChannel(image, channel);
      if (now?.version !== to || now.move === undefined) return undefined;
      return { image, channel, version: to, digest: now.digest ?? null, move: now.move };
    },
  };
}

/**
 * Finds the newest earlier version that the channel can point at. Throws `channel-moved` if the channel neither points
 * at the version that it is to leave nor returned from it.
 */
async function findTarget(
  deps: OperationDeps,
  { image, channel, from }: RollbackChannelInput,
): Promise<Target> {
  const now = await deps.catalogue.getChannel(image, channel);
  if (now === undefined) throw await channelMissing(deps, image, channel);
  if (now.version === undefined) {
    const emptied = now.move === undefined ? undefined : await deps.catalogue.getMove(now.move);
    throw channelEmpty(image, channel, emptied);
  }
  const moves: ChannelMove[] = [];
  for await (const move of allPages((query) => deps.catalogue.listMoves(image, channel, query), 50)) {
    moves.push(move);
  }
  if (from !== undefined && returnedFrom(moves, from)) return { from, to: now.version, repeated: true };
  checkPointer(now, from);
  const fits = new Map<string, ReturnFit>();
  for (const version of earlierVersions(moves)) {
    const fit = await fitOf(deps, now, version);
    fits.set(version, fit);
    if (fit === 'good') break;
  }
  const to = wayBack([...fits.keys()], (version) => fits.get(version));
  if (to !== undefined) return { from: now.version, to, repeated: false };
  throw new ImagoError(
    'channel-no-earlier',
    `${image}:${channel} has no earlier version that is still good.`,
    {
      hint: `Take the version out with \`imago image withdraw ${image}:${now.version}\`, which leaves the channel empty, or move the channel with \`imago channel promote ${image}:VERSION --to ${channel}\`.`,
    },
  );
}

async function fitOf(
  { catalogue }: OperationDeps,
  channel: ChannelRecord,
  number: string,
): Promise<ReturnFit> {
  const version = await catalogue.getVersion(channel.image, number);
  if (version === undefined || fitToReturn(channel, version) === undefined) return undefined;
  const test = newestTest(version.digest, await catalogue.listEvidence(version.digest));
  return fitToReturn(channel, { ...version, testFailed: test?.passed === false });
}
