// Takes a channel back to the version before, as a new move: history is never rewritten. It asks no gates, because it
// is the way out of trouble; the galleries that stand for the channel have the version before it moves, as ever.
import * as z from 'zod';
import { type ChannelRecord, fitToReturn, type ReturnFit, wayBack } from '../../domain/channel/channel.ts';
import { earlierVersions } from '../../domain/channel/log.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestTest } from '../../domain/evidence/evidence.ts';
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
  why: z.string().trim().min(1, 'must not be empty'),
});
export type RollbackChannelInput = z.infer<typeof rollbackInput>;

interface Target {
  readonly from: string;
  readonly to: string;
}

export function rollbackChannelOperation(deps: OperationDeps): OperationKind<RollbackChannelInput> {
  return {
    kind: 'rollback-channel',
    parse: (input) => parseInput(rollbackInput, input),
    /** Two of one channel go back two steps; other work on the image is not waited for. */
    key: ({ image, channel }) => `rollback/${image}:${channel}`,
    async plan({ image, channel }) {
      const { from, to } = await findTarget(deps, image, channel);
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
      attestMoveStep<RollbackChannelInput>(deps, 'move'),
      latestStep<RollbackChannelInput>(deps, async ({ input }) => [input]),
    ],
    result: (context) => ({ ...requireResult<Moved>(context, 'move'), ...untold(context) }),
  };
}

function targetStep(deps: OperationDeps): WorkStep<RollbackChannelInput> {
  return {
    name: 'target',
    async do(context) {
      return { ...(await findTarget(deps, context.input.image, context.input.channel)) };
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

/** The newest earlier version of the channel that may still be pointed at. */
async function findTarget(deps: OperationDeps, image: string, channel: string): Promise<Target> {
  const now = await deps.catalogue.getChannel(image, channel);
  if (now === undefined) throw await channelMissing(deps, image, channel);
  if (now.version === undefined)
    throw new ImagoError('channel-empty', `${image}:${channel} points at nothing yet.`);
  const moves: ChannelMove[] = [];
  for await (const move of allPages((query) => deps.catalogue.listMoves(image, channel, query), 50)) {
    moves.push(move);
  }
  const fits = new Map<string, ReturnFit>();
  for (const version of earlierVersions(moves)) {
    const fit = await fitOf(deps, now, version);
    fits.set(version, fit);
    if (fit === 'good') break;
  }
  const to = wayBack([...fits.keys()], (version) => fits.get(version));
  if (to !== undefined) return { from: now.version, to };
  throw new ImagoError(
    'channel-no-earlier',
    `${image}:${channel} has no earlier version that is still good.`,
    {
      hint: `Name one with \`imago channel promote ${image}:VERSION --to ${channel}\`.`,
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
