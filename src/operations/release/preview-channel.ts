// Previews what a release would find at a channel, and do there, from reading alone. Gates on what does not exist yet
// cannot be evaluated: the preview names what will decide them.
import type { Requester } from '../../domain/access/roles.ts';
import type { ChannelRecord } from '../../domain/channel/channel.ts';
import type { GateResult } from '../../domain/channel/decision.ts';
import { describeGate } from '../../domain/gate/describe.ts';
import { isOpen, whenOpen } from '../../domain/gate/gate.ts';
import { policyFor } from '../../domain/policy/policy.ts';
import { formatDuration } from '../../domain/value/duration.ts';
import { toIso } from '../../domain/value/time.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import { planCopies } from '../channel/copies.ts';
import { channelBefore, decideAmong } from '../channel/gate-facts.ts';
import { describeFailure } from '../common/describe-failure.ts';
import type { Reading } from '../common/operation.ts';
import { followersOf } from '../gallery/sync-latest.ts';
import { requireCurrent } from './channels.ts';

export interface PreviewTarget {
  /** If it is not built yet, what is known of it. */
  readonly version: VersionRecord;
  readonly isNew: boolean;
  /** A candidate is tested on the way. */
  readonly willTest: boolean;
}

export interface ChannelOutlook {
  readonly target: PreviewTarget;
  readonly channel: string;
  /** The previous channel, in the order of the release. */
  readonly before: string | undefined;
  /** The channels of the image, including those that the release creates. */
  readonly channels: readonly ChannelRecord[];
  /** The channels that the release has moved to the version by then. */
  readonly moved: ReadonlySet<string>;
  readonly by: Requester;
  readonly waitMs: number;
}

export interface PreviewedChannel {
  /** Each with the name of its step in front. */
  readonly lines: readonly string[];
  readonly moves: boolean;
}

export async function previewChannel(deps: Reading, outlook: ChannelOutlook): Promise<PreviewedChannel> {
  const { target, channel, channels } = outlook;
  const { image, version } = target.version;
  const found = channels.find(({ name }) => name === channel);
  if (found?.version === version && !target.isNew) {
    return { moves: false, lines: [`gates-${channel}: Skipped: ${image}:${channel} points at it.`] };
  }
  const gates = await gateLines(deps, outlook);
  const move = await moveLines(deps, outlook, found);
  return {
    moves: true,
    lines: [
      ...gates.map((line) => `gates-${channel}: ${line}`),
      ...move.map((line) => `promote-${channel}: ${line}`),
    ],
  };
}

async function gateLines(deps: Reading, outlook: ChannelOutlook): Promise<readonly string[]> {
  const { target, channel, channels, by, waitMs } = outlook;
  const now = deps.clock.now();
  const question = { version: target.version, channel, requester: by, now };
  const { result, channel: found } = await decideAmong(deps, question, channels);
  const earlier = await ageChannel(deps, outlook, found);
  const later = new Map(result.gates.map((gate) => [gate, decidedBy(gate, outlook, earlier)]));
  const described = result.gates.map((gate) => {
    const by = later.get(gate);
    return by === undefined ? describeGate(gate) : `? ${gate.gate}: needs ${gate.needs}; ${by}`;
  });
  const closed = result.gates.filter((gate) => later.get(gate) === undefined && !isOpen(gate));
  return [
    ...(described.length === 0 ? ['It has no gates.'] : described),
    ...(closed.length === 0 ? [] : [waitLine(closed, waitMs, now)]),
    ...(await describeFailure(async () => {
      if (!target.isNew) await requireCurrent(deps, asTested(target), found, outlook.before);
      return [];
    })),
  ];
}

/** The channel in which age is counted, if it is. */
async function ageChannel(
  deps: Reading,
  { target, channels }: ChannelOutlook,
  found: ChannelRecord,
): Promise<string | undefined> {
  const policy = await deps.promotion.getPolicy();
  const { age } = policyFor(policy?.policy, target.version.image, found.name);
  return age && (age.in ?? channelBefore(channels, found)?.name);
}

/** What will decide the gate; `undefined` if it can be evaluated now. */
function decidedBy(
  { gate, passed, opensAt }: GateResult,
  { target: { isNew, willTest }, moved }: ChannelOutlook,
  earlier: string | undefined,
): string | undefined {
  switch (gate) {
    case 'tested':
    case 'budgets':
      return willTest ? 'its test decides' : undefined;
    case 'node-config':
      return willTest && !passed ? 'its test decides' : undefined;
    case 'signed':
    case 'size':
      return isNew ? 'its build decides' : undefined;
    case 'scan':
      return isNew ? 'the release waits for a report, which decides' : undefined;
    case 'age': {
      const begins = earlier !== undefined && moved.has(earlier) && !passed && opensAt === undefined;
      return begins ? `counted from its move to ${earlier}` : undefined;
    }
    default:
      return undefined;
  }
}

function waitLine(closed: readonly GateResult[], waitMs: number, now: number): string {
  const opens = whenOpen(closed);
  const patience = formatDuration(waitMs);
  if (opens === undefined) {
    return `As things are, it would fail: closed ${closed.map(({ gate }) => gate).join(', ')}.`;
  }
  if (opens === 'people') return `It would wait for people, for at most ${patience}.`;
  const at = toIso(new Date(opens));
  return opens - now > waitMs
    ? `It would give up after ${patience}: the last gate opens at ${at}.`
    : `It would wait until ${at}.`;
}

function asTested({ version, willTest }: PreviewTarget): VersionRecord {
  return willTest ? { ...version, state: 'available' } : version;
}

async function moveLines(
  deps: Reading,
  { target: { version, isNew }, channel }: ChannelOutlook,
  found: ChannelRecord | undefined,
): Promise<readonly string[]> {
  const { image, version: number, digest } = version;
  const to = isNew ? 'the new version' : `${number} (${digest})`;
  const pools = await deps.fleet.listFollowers(image, channel);
  return [
    `Move ${image}:${channel} from ${found?.version ?? 'nothing'} to ${to}.`,
    ...(await describeFailure(() => planCopies(deps, channel, version))),
    ...(found === undefined ? [] : await followersOf(deps, found)).map(
      ({ name }) => `Then offer it as latest in gallery ${name}.`,
    ),
    ...pools.map((pool) => `Create new nodes of pool ${pool.name} from it; existing nodes stay.`),
  ];
}
