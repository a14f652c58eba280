// Promotion: moves a channel to a version, through the gates of the policy. What was tested is what moves; nothing
// is rebuilt (D8, rule 4). Overriding gates is a kind of its own, so that only admins can start, schedule or retry it.
import * as z from 'zod';
import type { Requester } from '../../domain/access/roles.ts';
import { checkForward, checkMove } from '../../domain/channel/channel.ts';
import type { Override } from '../../domain/channel/decision.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { gateNames } from '../../domain/gate/facts.ts';
import { describeGate, firmGates, isOpen } from '../../domain/gate/gate.ts';
import { channelNotFound } from '../../domain/resolve/resolve.ts';
import type { Json } from '../../domain/value/json.ts';
import type { ChannelMove, VersionRecord } from '../../ports/database/catalog.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';
import { latestStep, planLatest, untold } from '../gallery/sync-latest.ts';
import { resolved, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { attestMoveStep } from './attest-move.ts';
import { copiesStep, planCopies } from './copies.ts';
import { type Decision, decide } from './gate-facts.ts';

const sentence = z.string().refine((text) => text.trim() !== '', 'must not be empty');

const promoteInput = z.object({
  reference: z.string(),
  channel: z.string(),
  why: sentence,
  expect: z.string().nullable().optional(),
  back: z.boolean().default(false),
});
export type PromoteInput = z.infer<typeof promoteInput> & { readonly override?: Override | undefined };

const overrideInput = promoteInput.extend({
  override: z.object({ gates: z.array(z.enum(gateNames)).min(1), reason: sentence }),
});

export function promoteOperation(deps: OperationDeps): OperationKind<PromoteInput> {
  return promotion(deps, 'promote', promoteInput);
}

/** The same with gates overridden. `real`, `tested` and `restricted` stay closed for everyone. */
export function overridePromoteOperation(deps: OperationDeps): OperationKind<PromoteInput> {
  return promotion(deps, 'promote-override', overrideInput);
}

function promotion(
  deps: OperationDeps,
  kind: string,
  schema: z.ZodType<PromoteInput>,
): OperationKind<PromoteInput> {
  return {
    kind,
    parse(input) {
      const parsed = parseInput(schema, input);
      for (const gate of parsed.override?.gates ?? []) refuseFirm(gate);
      return parsed;
    },
    plan: (input, by) => planPromotion(deps, input, by),
    steps: () => [
      resolveStep<PromoteInput>(deps),
      gatesStep(deps),
      copiesStep<PromoteInput>(deps, (context) => {
        const { image, version } = resolved(context);
        return requireVersion(deps, image, version);
      }),
      moveStep(deps),
      attestMoveStep<PromoteInput>(deps, 'move'),
      latestStep<PromoteInput>(deps, async (context) => [requireResult<Moved>(context, 'move')]),
    ],
    result(context) {
      const { gates } = requireResult<{ readonly gates: Json }>(context, 'gates');
      const { signed } = requireResult<{ readonly signed: boolean }>(context, 'attest');
      return { ...requireResult<Moved>(context, 'move'), gates, signed, ...untold(context) };
    },
  };
}

function refuseFirm(gate: string): void {
  if (!firmGates.has(gate)) return;
  throw new ImagoError('override-refused', `The gate \`${gate}\` cannot be overridden by anybody.`);
}

/** A dry run shows every gate, also when one of these would end it. */
const shownAsGates: ReadonlySet<string> = new Set([
  'channel-untested',
  'channel-restricted',
  'simulation-mixed',
]);

async function planPromotion(
  deps: OperationDeps,
  input: PromoteInput,
  by: Requester,
): Promise<readonly string[]> {
  const { reference, channel: name } = input;
  const version = await requireTarget(deps, reference);
  const { image, version: number } = version;
  const moves = await mustMove(deps, input, version).catch((thrown) => {
    if (thrown instanceof ImagoError && shownAsGates.has(thrown.code)) return true;
    throw thrown;
  });
  if (!moves) return [`${image}:${name} points at ${number} already.`];
  await deps.attestor?.ready();
  const { result, channel } = await decide(deps, {
    version,
    channel: name,
    requester: by,
    now: deps.clock.now(),
    override: input.override,
  });
  const pools = await deps.fleet.listFollowers(image, name);
  const copies = await planCopies(deps, name, version);
  const latest = await planLatest(deps, { image, channel: name }, number);
  const closed = result.gates.filter((gate) => !isOpen(gate)).map(({ gate }) => gate);
  return [
    `Move ${image}:${name} from ${channel.version ?? 'nothing'} to ${number} (${version.digest}).`,
    ...result.gates.map(describeGate),
    ...(closed.length === 0 ? [] : [`It would be refused now: closed ${closed.join(', ')}.`]),
    ...copies,
    ...latest,
    ...pools.map((pool) => `New nodes of pool ${pool.name} come from ${number}; existing nodes stay.`),
  ];
}

async function requireTarget(deps: OperationDeps, reference: string): Promise<VersionRecord> {
  const { image, version } = await resolveUsable(deps, reference);
  return requireVersion(deps, image, version);
}

export async function requireVersion(
  deps: OperationDeps,
  image: string,
  version: string,
): Promise<VersionRecord> {
  const found = await deps.catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  throw new ImagoError('version-not-found', `${image}:${version} is not in the catalogue any more.`);
}

/** `false` when the channel points there already. Throws what no gate and no override has a say in. */
async function mustMove(
  deps: OperationDeps,
  { channel: name, back, expect }: PromoteInput,
  version: VersionRecord,
): Promise<boolean> {
  const channel = await deps.catalogue.getChannel(version.image, name);
  if (channel === undefined) throw await channelMissing(deps, version.image, name);
  if (!checkMove(channel, version, expect === undefined ? {} : { expect })) return false;
  if (!back && channel.version !== undefined) {
    checkForward(channel, await deps.catalogue.getVersion(version.image, channel.version), version);
  }
  return true;
}

/** Fails early, with what every gate says in the record. */
function gatesStep(deps: OperationDeps): WorkStep<PromoteInput> {
  return {
    name: 'gates',
    async do(context) {
      const { image, version } = resolved(context);
      const target = await requireVersion(deps, image, version);
      await deps.attestor?.ready();
      const { result } = await askGates(deps, context, target);
      await mustMove(deps, context.input, target);
      return { gates: result.gates.map((gate) => ({ ...gate })), at: result.at };
    },
  };
}

/** Asks the gates anew: what they said some steps ago may not hold any more. */
function moveStep(deps: OperationDeps): WorkStep<PromoteInput> {
  return {
    name: 'move',
    async do(context) {
      const { image, version: number } = resolved(context);
      const version = await requireVersion(deps, image, number);
      const { channel, why, expect } = context.input;
      for (let tries = 1; ; tries += 1) {
        const decision = await askGates(deps, context, version);
        await mustMove(deps, context.input, version);
        try {
          const move = await deps.catalogue.moveChannel({
            image,
            channel,
            to: number,
            expect: expect === undefined ? (decision.channel.version ?? null) : expect,
            by: context.operation.by,
            why,
            operation: context.operation.id,
            policy: decision.result,
          });
          return moved(move);
        } catch (thrown) {
          if (!(thrown instanceof ImagoError && thrown.code === 'gate-outdated') || tries >= mostTries) {
            throw thrown;
          }
          context.log(`${thrown.message} The gates are asked again.`);
        }
      }
    },
    verify: (context) => findMove(deps, context),
  };
}

const mostTries = 5;

/** Throws `gate-closed` with every gate in its details. */
async function askGates(
  deps: OperationDeps,
  context: StepContext<PromoteInput>,
  version: VersionRecord,
): Promise<Decision> {
  const { channel, override } = context.input;
  const decision = await decide(deps, {
    version,
    channel,
    requester: context.operation,
    now: context.clock.now(),
    override,
  });
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

/** The move that this operation made, also when others have moved the channel since; or that it points there. */
async function findMove(deps: OperationDeps, context: StepContext<PromoteInput>): Promise<Moved | undefined> {
  const { image, version } = resolved(context);
  const { channel: name } = context.input;
  const { items } = await deps.catalogue.listMoves(image, name, { limit: 50 });
  const mine = items.find(({ operation }) => operation === context.operation.id);
  if (mine !== undefined) return moved(mine);
  const channel = await deps.catalogue.getChannel(image, name);
  if (channel?.version !== version || channel.move === undefined) return undefined;
  return { image, channel: name, version, digest: channel.digest ?? null, move: channel.move };
}

export type Moved = {
  readonly image: string;
  readonly channel: string;
  readonly version: string | null;
  readonly digest: string | null;
  readonly move: number;
};

export function moved({ image, channel, to, toDigest, id }: ChannelMove): Moved {
  return { image, channel, version: to ?? null, digest: toDigest ?? null, move: id };
}

export async function channelMissing(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  image: string,
  channel: string,
): Promise<ImagoError> {
  const known = await catalogue.listChannels(image);
  return channelNotFound(
    image,
    channel,
    known.map(({ name }) => name),
  );
}
