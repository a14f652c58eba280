// The way of a version through channels, as a part of releases: wait before the gates while time or people can open
// them, then promote. Nothing is moved that something newer has overtaken.
import { channelTakes } from '../../domain/channel/channel.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { describeGate, isOpen, whenOpen } from '../../domain/gate/gate.ts';
import { compareAge } from '../../domain/image/version.ts';
import type { ChannelRecord, VersionRecord } from '../../ports/database/catalog.ts';
import type { ChildStep, Step, StepContext, UntilStep } from '../../ports/workflow/operation.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { decide } from '../channel/gate-facts.ts';
import type { OperationDeps } from '../common/deps.ts';

/** Approvals wake it at once; this is for what nobody tells it. */
const longestLookMs = 10 * 60_000;

interface Patient {
  readonly why: string;
  readonly waitMs: number;
}

export interface ChannelWay<Input> {
  readonly channel: string;
  /** The channel that it comes from, in the order of this release. */
  readonly before: string | undefined;
  target(context: StepContext<Input>): { readonly image: string; readonly version: string };
}

/** What the step before the gates of a channel leaves. */
export interface Passed {
  /** `false` when the channel points there already. */
  readonly moves: boolean;
}

export function channelSteps<Input extends Patient>(
  deps: OperationDeps,
  way: ChannelWay<Input>,
): readonly Step<Input>[] {
  return [gatesStep(deps, way), promoteChild(way)];
}

/** The channels that the operation moved. */
export function movedChannels<Input>(
  context: StepContext<Input>,
  channels: readonly string[],
): readonly string[] {
  return channels.filter((channel) => requireResult<Passed>(context, gatesName(channel)).moves);
}

function gatesName(channel: string): string {
  return `gates-${channel}`;
}

/** Ends when the gates are open, or fails when neither time nor people can open them. */
function gatesStep<Input extends Patient>(
  deps: OperationDeps,
  { channel, before, target }: ChannelWay<Input>,
): UntilStep<Input> {
  return {
    name: gatesName(channel),
    patience: ({ input }) => ({ timeoutMs: input.waitMs }),
    async look(context) {
      const { image, version: number } = target(context);
      const version = await requireVersion(deps, image, number);
      const now = context.clock.now();
      const { result, channel: found } = await decide(deps, {
        ...{ version, channel, requester: context.operation, now },
      });
      if (found.version === number) return { done: { moves: false } };
      await requireCurrent(deps, version, found, before);
      const gates = result.gates.map((gate) => ({ ...gate }));
      if (result.passed) return { done: { moves: true, gates } };
      const closed = result.gates.filter((gate) => !isOpen(gate));
      const opens = whenOpen(result.gates);
      const sentence = `${image}:${number} waits before ${channel}: ${closed.map(describeGate).join('; ')}`;
      if (opens === undefined) {
        throw new ImagoError('gate-closed', `${sentence}.`, { details: { gates } });
      }
      return {
        sentence,
        againMs: opens === 'people' ? longestLookMs : Math.min(longestLookMs, opens - now),
      };
    },
  };
}

/** While it waited, something newer may have overtaken it, or it may have been taken out. */
export async function requireCurrent(
  deps: OperationDeps,
  version: VersionRecord,
  target: Pick<ChannelRecord, 'forTesting' | 'name' | 'version'>,
  before: string | undefined,
): Promise<void> {
  const { image, version: number, state } = version;
  if (!channelTakes(target, state)) {
    throw new ImagoError('version-state', `${image}:${number} is ${state} by now.`);
  }
  const held = before === undefined ? undefined : await deps.catalogue.getChannel(image, before);
  for (const other of [held?.version, target.version]) {
    if (other === undefined || other === number) continue;
    const found = await deps.catalogue.getVersion(image, other);
    if (found === undefined || compareAge(found, version) < 0) continue;
    throw new ImagoError('release-superseded', `${image}:${other} came after ${number} and is ahead of it.`, {
      hint: `To go back to ${number} on purpose: \`imago channel promote ${image}:${number} --to ${target.name} --allow-downgrade\`.`,
    });
  }
}

function promoteChild<Input extends Patient>({ channel, target }: ChannelWay<Input>): ChildStep<Input> {
  return {
    name: `promote-${channel}`,
    child(context) {
      if (!requireResult<Passed>(context, gatesName(channel)).moves) return undefined;
      const { image, version } = target(context);
      const { why } = context.input;
      const reference = `${image}:${version}`;
      return { kind: 'promote', subject: `image/${image}`, input: { reference, channel, why } };
    },
  };
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
