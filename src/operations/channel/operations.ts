// Promotion: moves a channel to a version, through the gates of the policy. What was tested is what moves; nothing is
// rebuilt (D8, rule 4).
import type * as z from 'zod';
import { checkForward, checkMove, checkPointer } from '../../domain/channel/channel.ts';
import type { Override } from '../../domain/channel/decision.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { describeGate } from '../../domain/gate/describe.ts';
import { isOpen } from '../../domain/gate/gate.ts';
import { parseReference } from '../../domain/image/reference.ts';
import type { OperationDeclaration } from '../../domain/operation/declaration.ts';
import { policyFor } from '../../domain/policy/policy.ts';
import * as declared from '../../domain/promotion/operations.ts';
import type { Resolution, VersionRecord } from '../../ports/database/catalog.ts';
import { operation, type Reading, type Run } from '../common/operation.ts';
import { requireChannel, requireVersion } from '../common/require.ts';
import { latestStep, planLatest, unsynced } from '../gallery/sync-latest.ts';
import { refreshFreshness } from '../image/outdated.ts';
import { resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { attestStep, requireSigning } from './attest-move.ts';
import { copiesStep, planCopies } from './copies.ts';
import { type Decision, decide } from './gate-facts.ts';
import { channelTrail, type Moved, moved } from './moves.ts';

export { rollbackChannel } from './rollback.ts';

type PromoteInput = z.output<typeof declared.promote.input> & { readonly override?: Override };
type PromoteRun = Run<PromoteInput, { readonly resolve: Resolution }>;

const targetOf = ({ catalogue, result }: PromoteRun) => {
  const { image, version } = result('resolve');
  return requireVersion({ catalogue }, image, version);
};

function promotion<Kind extends string, Schema extends z.ZodType<PromoteInput>>(
  declaration: OperationDeclaration<Kind, Schema>,
) {
  return (
    operation(declaration as OperationDeclaration<Kind, z.ZodType<PromoteInput>>, {
      async prepare({ catalogue, input: { reference, channel, expect } }) {
        const { image } = parseReference(reference);
        const before = await catalogue.getChannel(image, channel);
        if (expect !== undefined)
          checkPointer({ image, name: channel, version: before?.version }, expect ?? 'none');
        // Of two callers that saw the same channel, the second is refused because it has moved.
        const seen = expect === undefined ? (before?.version ?? null) : expect;
        return { before: before && channelTrail(before), input: { expect: seen } };
      },
      plan: planPromotion,
    })
      .use(resolveStep)
      // Fails early, with the decision of every gate in the record.
      .step('gates', async (run) => {
        const target = await targetOf(run);
        await requireSigning(run, target.image, run.input.channel);
        await refreshForGate(run, target, run.input.channel);
        const { result } = await requireGates(run, target);
        await mustMove(run, target);
        return { gates: result.gates, at: result.at };
      })
      .use(copiesStep(targetOf))
      .step('move', { do: move, verify: findMove })
      .use(attestStep)
      .use(latestStep(async (run: Run<unknown, { readonly move: Moved }>) => [run.result('move')]))
      .result((run) => ({
        ...run.result('move'),
        gates: run.result('gates').gates,
        signed: run.result('attest').signed,
        ...unsynced(run),
      }))
  );
}

export const promote = promotion(declared.promote);

/** The same with gates overridden. */
export const promoteOverride = promotion(declared.promoteOverride);

/** A dry run shows every gate, including those that would end it. */
const shownAsGates: ReadonlySet<string> = new Set([
  'channel-untested',
  'channel-restricted',
  'simulation-mixed',
]);

async function planPromotion(run: Reading<PromoteInput>): Promise<readonly string[]> {
  const { reference, channel: name, override } = run.input;
  const resolved = await resolveUsable(run, reference);
  const version = await requireVersion(run, resolved.image, resolved.version);
  const { image, version: number } = version;
  const moves = await mustMove(run, version).catch((thrown) => {
    if (thrown instanceof ImagoError && shownAsGates.has(thrown.code)) return true;
    throw thrown;
  });
  if (!moves) return [`${image}:${name} already points at ${number}.`];
  await requireSigning(run, image, name);
  const { result, channel } = await decide(run, {
    ...{ version, channel: name, requester: run.requester, now: run.clock.now(), override },
  });
  const pools = await run.fleet.listFollowers(image, name);
  const closed = result.gates.filter((gate) => !isOpen(gate)).map(({ gate }) => gate);
  return [
    `Move ${image}:${name} from ${channel.version ?? 'nothing'} to ${number} (${version.digest}).`,
    ...result.gates.map(describeGate),
    ...(closed.length === 0 ? [] : [`It would be refused now: closed ${closed.join(', ')}.`]),
    ...(await planCopies(run, name, version)),
    ...(await planLatest(run, { image, channel: name }, number)),
    ...pools.map((pool) => `Create new nodes of pool ${pool.name} from ${number}; existing nodes stay.`),
  ];
}

/** Returns `false` if the channel already points there. Throws what neither gates nor overrides decide. */
async function mustMove(
  { catalogue, input: { channel: name, back, expect } }: Reading<PromoteInput>,
  version: VersionRecord,
): Promise<boolean> {
  const channel = await requireChannel({ catalogue }, version.image, name);
  if (!checkMove(channel, version, expect === undefined ? {} : { expect })) return false;
  if (!back && channel.version !== undefined) {
    checkForward(channel, await catalogue.getVersion(version.image, channel.version), version);
  }
  return true;
}

async function refreshForGate(run: PromoteRun, version: VersionRecord, channel: string): Promise<void> {
  const policy = await run.promotion.getPolicy();
  if (policyFor(policy?.policy, version.image, channel).fresh) await refreshFreshness(run, version);
}

const maxTries = 5;

/** Evaluates the gates again: their decision of some steps ago may no longer hold. */
async function move(run: PromoteRun): Promise<Moved> {
  const version = await targetOf(run);
  const { channel, why, expect } = run.input;
  for (let tries = 1; ; tries += 1) {
    const { result: policy, channel: now } = await requireGates(run, version);
    await mustMove(run, version);
    try {
      return moved(
        await run.catalogue.moveChannel({
          ...{ image: version.image, channel, to: version.version, why, policy },
          expect: expect === undefined ? (now.version ?? null) : expect,
          ...{ by: run.operation.by, operation: run.operation.id },
        }),
      );
    } catch (thrown) {
      const isOutdated = thrown instanceof ImagoError && thrown.code === 'gate-outdated';
      if (!isOutdated || tries >= maxTries) throw thrown;
      run.log(`${thrown.message} Evaluating the gates again.`);
    }
  }
}

/** Throws `gate-closed` with every gate in its details. */
async function requireGates(run: PromoteRun, version: VersionRecord): Promise<Decision> {
  const { channel, override } = run.input;
  const asked = { version, channel, requester: run.requester, now: run.clock.now(), override };
  const decision = await decide(run, asked);
  const { passed, gates } = decision.result;
  if (passed || decision.channel.version === version.version) return decision;
  const closed = gates.filter((gate) => !isOpen(gate));
  throw new ImagoError(
    'gate-closed',
    `${version.image}:${version.version} may not go to ${channel}: ${closed.map(describeGate).join('; ')}.`,
    {
      ...(closed.some(({ gate }) => gate === 'tested')
        ? { hint: `Run \`imago test ${version.image}:${version.version}\` first.` }
        : {}),
      details: { gates: gates.map((gate) => ({ ...gate })) },
    },
  );
}

/** The move that this operation made, even if others have moved the channel since; or the one that points there. */
async function findMove(run: PromoteRun): Promise<Moved | undefined> {
  const { image, version } = run.result('resolve');
  const { channel: name } = run.input;
  const { items } = await run.catalogue.listMoves(image, name, { limit: 50 });
  const mine = items.find((one) => one.operation === run.operation.id);
  if (mine !== undefined) return moved(mine);
  const channel = await run.catalogue.getChannel(image, name);
  if (channel?.version !== version || channel.move === undefined) return undefined;
  return { image, channel: name, version, digest: channel.digest ?? null, move: channel.move };
}
