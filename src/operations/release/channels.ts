// Takes a version through channels, as a part of releases: waits at the gates while time or people can open them, then
// promotes. A version that a newer one has overtaken is not moved.
import { channelTakes } from '../../domain/channel/channel.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { describeGate } from '../../domain/gate/describe.ts';
import { isOpen, whenOpen } from '../../domain/gate/gate.ts';
import { compareAge } from '../../domain/image/version.ts';
import { operationRequest } from '../../domain/operation/declaration.ts';
import { promote } from '../../domain/promotion/operations.ts';
import type { ReleaseInput } from '../../domain/release/operations.ts';
import type { ChannelRecord, VersionRecord } from '../../ports/database/catalog.ts';
import { decide } from '../channel/gate-facts.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { AnyStep, Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';

/** Approvals wake it immediately; this is for everything else. */
const maxPauseMs = 10 * 60_000;

/** One channel on the way of a release. */
export interface Way {
  readonly channel: string;
  /** The previous channel, in the order of this release. */
  readonly before: string | undefined;
  /** The step whose result is the version to promote. */
  readonly of: 'resolve' | `release-${string}`;
}

/** The results of the steps for channels. */
export interface ChannelResults {
  readonly [step: `gates-${string}`]: {
    /** `false` if the channel already points there. */
    readonly moves: boolean;
  };
}

type Named = Readonly<Record<'image' | 'version', string>>;
type WayResults = ChannelResults & Readonly<Record<Way['of'], Named>>;
type WayRun = Run<ReleaseInput, WayResults>;

/** The channels that the operation moved. */
export function movedChannels(run: Pick<WayRun, 'result'>, ways: readonly Way[]): readonly string[] {
  return ways.map(({ channel }) => channel).filter((channel) => run.result(`gates-${channel}`).moves);
}

/** Waits until the gates are open, or fails if neither time nor people can open them; then promotes. */
export function channelSteps({ channel, before, of }: Way): readonly AnyStep<ReleaseInput, WayResults>[] {
  return [
    {
      name: `gates-${channel}`,
      patience: ({ input }: WayRun) => ({ timeoutMs: input.waitMs }),
      async look(run: WayRun) {
        const { image, version: number } = run.result(of);
        const version = await requireVersion(run, image, number);
        const now = run.clock.now();
        const asked = { version, channel, requester: run.requester, now };
        const { result, channel: found } = await decide(run, asked);
        if (found.version === number) return { done: { moves: false } };
        await requireCurrent(run, version, found, before);
        const { gates } = result;
        if (result.passed) return { done: { moves: true, gates } };
        const closed = gates.filter((gate) => !isOpen(gate));
        const opens = whenOpen(gates);
        const sentence = `${image}:${number} waits before ${channel}: ${closed.map(describeGate).join('; ')}`;
        if (opens === undefined) {
          throw new ImagoError('gate-closed', `${sentence}.`, { details: { gates } });
        }
        if (opens === 'people') {
          const mark = `${channel} ${version.digest}`;
          const notice = { kind: 'approval.needed', subject: `image/${image}`, mark };
          const data = { channel, version: number, operation: run.operation.id, what: sentence };
          await run.lifecycle.support.tellOnce(notice, data);
        }
        return { sentence, againMs: opens === 'people' ? maxPauseMs : Math.min(maxPauseMs, opens - now) };
      },
    },
    {
      name: `promote-${channel}`,
      child(run: WayRun) {
        if (!run.result(`gates-${channel}`).moves) return undefined;
        const { image, version } = run.result(of);
        return operationRequest(promote, { reference: `${image}:${version}`, channel, why: run.input.why });
      },
    },
  ];
}

/** While it waited, a newer version may have overtaken it, or it may have been withdrawn. */
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
