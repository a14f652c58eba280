// Moves a channel back to its previous version, as a new move: history is never rewritten. It checks no gates, because
// it is the way out of an outage. It names the version that the channel leaves, so that a repeat goes no further back.
import type * as z from 'zod';
import {
  type ChannelRecord,
  checkPointer,
  fitToReturn,
  type ReturnFit,
  requireUnmanaged,
  wayBack,
} from '../../domain/channel/channel.ts';
import { earlierVersions, returnedFrom } from '../../domain/channel/log.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestTest } from '../../domain/evidence/evidence.ts';
import * as declared from '../../domain/promotion/operations.ts';
import { channelEmpty } from '../../domain/resolve/resolve.ts';
import type { ChannelMove } from '../../ports/database/catalog.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { operation } from '../common/operation.ts';
import { requireChannel, requireVersion } from '../common/require.ts';
import { latestStep, planLatest, unsynced } from '../gallery/sync-latest.ts';
import { attestStep } from './attest-move.ts';
import { copiesStep, planCopies } from './copies.ts';
import { channelTrail, type Moved, moved } from './moves.ts';

interface Target {
  readonly from: string;
  readonly to: string;
  /** The channel has already left `from`: nothing moves. */
  readonly repeated: boolean;
}

export const rollbackChannel = operation(declared.rollbackChannel, {
  prepare: async (run) => ({
    before: channelTrail(await requireChannel(run, run.input.image, run.input.channel)),
  }),
  async plan(run) {
    const { image, channel } = run.input;
    const { from, to, repeated } = await findTarget(run, run.input);
    if (repeated) return [`${image}:${channel} already went back from ${from} to ${to}.`];
    const copies = await planCopies(run, channel, await requireVersion(run, image, to));
    const latest = await planLatest(run, { image, channel }, to);
    return [`Move ${image}:${channel} from ${from} back to ${to}.`, ...copies, ...latest];
  },
})
  .step('target', (run) => findTarget(run, run.input))
  .use(copiesStep((run) => requireVersion(run, run.input.image, run.result('target').to)))
  .step('move', {
    async do(run): Promise<Moved> {
      const { from: expect, to } = run.result('target');
      const { image, channel, why } = run.input;
      const { id: operation, by } = run.operation;
      return moved(
        await run.catalogue.moveChannel({ image, channel, to, expect, back: true, by, why, operation }),
      );
    },
    async verify(run) {
      const { to } = run.result('target');
      const { image, channel } = run.input;
      const now = await run.catalogue.getChannel(image, channel);
      if (now?.version !== to || now.move === undefined) return undefined;
      return { image, channel, version: to, digest: now.digest ?? null, move: now.move };
    },
  })
  .use(latestStep(async ({ input }) => [input]))
  // Last: keys that do not work never prevent going back.
  .use(attestStep)
  .result((run) => ({ ...run.result('move'), ...unsynced(run) }));

/**
 * Finds the newest earlier version that the channel can point at. Throws `channel-moved` if the channel neither points
 * at the version that it is to leave nor returned from it.
 */
async function findTarget(
  deps: OperationDeps,
  { image, channel, from }: z.output<typeof declared.rollbackChannel.input>,
): Promise<Target> {
  const now = await requireChannel(deps, image, channel);
  requireUnmanaged(now);
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
      hint: `Withdraw the version with \`imago image withdraw ${image}:${now.version}\`, which leaves the channel empty, or move the channel with \`imago channel promote ${image}:VERSION --to ${channel}\`.`,
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
