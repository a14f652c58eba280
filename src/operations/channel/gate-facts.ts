// Gathers what the gates before a channel are decided on, and decides. Reads only; the move itself checks that
// nothing of it has changed since.

import type { Requester } from '../../domain/access/roles.ts';
import type { Override, PolicyResult } from '../../domain/channel/decision.ts';
import { staysOf } from '../../domain/channel/log.ts';
import { channelLine } from '../../domain/channel/minor-channel.ts';
import { type Evidence, newestTest } from '../../domain/evidence/evidence.ts';
import type { AgentOffers, Follower, GateFacts } from '../../domain/gate/facts.ts';
import { evaluateGates, withOverride } from '../../domain/gate/gate.ts';
import { neededAbilities } from '../../domain/node-config/capabilities.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { type ChannelPolicy, capturedGates, policyFor } from '../../domain/policy/policy.ts';
import type { PolicyRecord } from '../../domain/policy/schema.ts';
import { channelNotFound } from '../../domain/resolve/resolve.ts';
import { toIso } from '../../domain/value/time.ts';
import type { ChannelMove, ChannelRecord, VersionRecord } from '../../ports/database/catalog.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { ImageSignature } from '../../ports/image-store/image-store.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';

type GateDeps = Pick<OperationDeps, 'catalogue' | 'fleet' | 'promotion' | 'images'>;

export interface GateQuestion {
  readonly version: VersionRecord;
  readonly channel: string;
  readonly requester: Requester;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly override?: Override | undefined;
}

export interface Decision {
  readonly result: PolicyResult;
  /** The channel as it was when the gates were asked. */
  readonly channel: ChannelRecord;
}

/** Throws `channel-not-found`. Closed gates are an answer, not an error. */
export async function decide(deps: GateDeps, question: GateQuestion): Promise<Decision> {
  return decideAmong(deps, question, await deps.catalogue.listChannels(question.version.image));
}

/** The same among these channels: also of such as will only be made. */
export async function decideAmong(
  deps: GateDeps,
  question: GateQuestion,
  channels: readonly ChannelRecord[],
): Promise<Decision> {
  const { version } = question;
  const channel = channels.find(({ name }) => name === question.channel);
  if (channel === undefined) {
    throw channelNotFound(
      version.image,
      question.channel,
      channels.map(({ name }) => name),
    );
  }
  const policy = await deps.promotion.getPolicy();
  const asked = policyFor(policy?.policy, version.image, channel.name);
  return { channel, result: await evaluate(deps, question, { policy, asked, channel, channels }) };
}

/** The same for a prototype of a pool that follows the channel, by the channel's gates for captured versions. */
export async function decideCaptured(
  deps: GateDeps,
  question: Omit<GateQuestion, 'channel' | 'override'>,
  channel: ChannelRecord,
): Promise<PolicyResult> {
  const policy = await deps.promotion.getPolicy();
  const asked = capturedGates(policy?.policy, channel.image, channel.name);
  // It never becomes public: it is used in its own pool only.
  return evaluate(deps, question, { policy, asked, channel: { ...channel, public: false }, channels: [] });
}

interface Gated {
  readonly policy: PolicyRecord | undefined;
  readonly asked: ChannelPolicy;
  readonly channel: ChannelRecord;
  readonly channels: readonly ChannelRecord[];
}

async function evaluate(
  deps: GateDeps,
  { version, requester, now, override }: Omit<GateQuestion, 'channel'>,
  { policy, asked, channel, channels }: Gated,
): Promise<PolicyResult> {
  const evidence = await deps.catalogue.listEvidence(version.digest);
  const test = newestTest(version.digest, evidence);
  const composed = test?.composed;
  const facts: GateFacts = {
    version,
    channel,
    evidence,
    ...(await earlierFacts(deps, asked, channels, channel, version)),
    ...(await beforeFacts(deps, channel, version)),
    ...(asked.approvals === undefined ? {} : await returnFacts(deps, channel, version)),
    ...(composed === undefined ? {} : await composedFacts(deps, composed)),
    ...offersOf(test),
    ...(asked.signed && { signatures: await signaturesOf(deps, version.digest) }),
    followers: asked.nodeConfig ? await followerFacts(deps, channel) : [],
    requester,
    now,
  };
  const verdict = withOverride(evaluateGates(asked, facts), override?.gates);
  const overrides = verdict.gates.some(({ overridden }) => overridden);
  return {
    ...verdict,
    ...(policy === undefined ? {} : { policy: { id: policy.id, digest: policy.digest } }),
    ...(override === undefined || !overrides ? {} : { override: { ...override, by: requester.by } }),
    ...(composed === undefined ? {} : { composed }),
    evidenceSeen: evidence.at(-1)?.id ?? 0,
    at: toIso(new Date(now)),
  };
}

async function signaturesOf({ images }: GateDeps, digest: string): Promise<readonly ImageSignature[]> {
  if ((await images?.find(digest)) === undefined) return [];
  return (await images?.signatures.list(digest)) ?? [];
}

async function earlierFacts(
  deps: GateDeps,
  asked: ChannelPolicy,
  channels: readonly ChannelRecord[],
  channel: ChannelRecord,
  { image, version }: VersionRecord,
): Promise<Pick<GateFacts, 'earlier'>> {
  if (asked.age === undefined) return {};
  const name = asked.age.in ?? channelBefore(channels, channel)?.name;
  if (name === undefined) return {};
  const moves: ChannelMove[] = [];
  for await (const move of allPages((query) => deps.catalogue.listMoves(image, name, query), 200)) {
    moves.push(move);
  }
  return { earlier: { name, stays: staysOf(moves, version) } };
}

/** The one before it in the order of promotion, of the same line; managed channels are in no order. */
export function channelBefore(
  channels: readonly ChannelRecord[],
  { name, position }: Pick<ChannelRecord, 'name' | 'position'>,
): ChannelRecord | undefined {
  const line = channelLine(name)?.line;
  return channels
    .filter((other) => !other.managed && other.position < position)
    .findLast((other) => channelLine(other.name)?.line === line);
}

/**
 * An override was an exception for one move, and a move that went back asked no gate: neither shows that people once
 * approved the version for this channel.
 */
async function returnFacts(
  deps: GateDeps,
  { image, name }: ChannelRecord,
  { version }: VersionRecord,
): Promise<Pick<GateFacts, 'earlierMove'>> {
  for await (const move of allPages((query) => deps.catalogue.listMoves(image, name, query), 200)) {
    const { id, to, policy } = move;
    if (to === version && policy?.passed && policy.override === undefined) return { earlierMove: id };
  }
  return {};
}

async function beforeFacts(
  deps: GateDeps,
  channel: ChannelRecord,
  { version }: VersionRecord,
): Promise<Pick<GateFacts, 'before'>> {
  if (channel.version === undefined || channel.version === version) return {};
  const before = await deps.catalogue.getVersion(channel.image, channel.version);
  if (before === undefined) return {};
  return { before: { version: before, evidence: await deps.catalogue.listEvidence(before.digest) } };
}

async function composedFacts(deps: GateDeps, id: string): Promise<Pick<GateFacts, 'composed'>> {
  const composed = await deps.promotion.getComposed(id);
  return composed === undefined ? {} : { composed };
}

async function followerFacts(
  deps: GateDeps,
  { image, name }: ChannelRecord,
): Promise<GateFacts['followers']> {
  const pools = await deps.fleet.listFollowers(image, name);
  return pools.map(followerOf);
}

/** What a config that cannot be read asks for is not known; the pool's own operations refuse it. */
function followerOf({ name, nodeConfig }: PoolRecord): Follower {
  const config = parseObject(nodeConfig);
  const { schemaVersion, requires } = config;
  const said = Array.isArray(requires) ? requires.filter((one) => typeof one === 'string') : [];
  const needed = neededAbilities(config as unknown as NodeConfig);
  return {
    name,
    ...(typeof schemaVersion === 'number' ? { schemaVersion } : {}),
    requires: [...new Set([...said, ...needed])].toSorted(),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** As the test stored it. */
function offersOf(test: Evidence | undefined): Pick<GateFacts, 'offers'> {
  const details = Object(test?.details) as { readonly offers?: Partial<AgentOffers> };
  const { abilities, components, hidesComponents } = details.offers ?? {};
  if (!Array.isArray(abilities)) return {};
  return {
    offers: { abilities, components: components ?? {}, ...(hidesComponents ? { hidesComponents } : {}) },
  };
}
