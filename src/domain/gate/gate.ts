// Gates: what must hold before a channel moves. Pure: whoever decides passes in what is known, with the time, and
// the same facts give the same answer in a dry run, in the operation and at the move itself.
import type { Requester } from '../access/roles.ts';
import type { ChannelRecord } from '../channel/channel.ts';
import type { Evidence } from '../evidence/evidence.ts';
import type { ComposedVersion } from '../evidence/tested-combination.ts';
import type { VersionRecord } from '../image/version.ts';
import type { ChannelPolicy } from '../policy/policy.ts';
import {
  ageGate,
  approvalsGate,
  budgetsGate,
  freezeGate,
  nodeConfigGate,
  realGate,
  restrictedGate,
  scanGate,
  sizeGate,
  testedGate,
} from './checks.ts';
import { type GatedSignature, signedGate } from './signed.ts';

export const gateNames = [
  'real',
  'tested',
  'restricted',
  'signed',
  'age',
  'scan',
  'budgets',
  'size',
  'approvals',
  'freeze',
  'node-config',
] as const;
export type GateName = (typeof gateNames)[number];

/** No admin can override these. */
export const firmGates: ReadonlySet<GateName> = new Set(['real', 'tested', 'restricted']);

/** What one gate says, with its value. */
export interface GateResult {
  readonly gate: GateName;
  readonly passed: boolean;
  /** What is asked for. */
  readonly needs: string;
  /** What was found. */
  readonly value: string;
  /** The evidence that it was decided on. */
  readonly evidence?: readonly number[];
  /** When time alone opens it. */
  readonly opensAt?: string;
  /** It opens when people say so. */
  readonly waitsForPeople?: true;
  /** It was closed, and an admin moved the channel nevertheless. */
  readonly overridden?: true;
}

/** An admin's word that moves a channel through closed gates. Stays visible for ever. */
export interface Override {
  readonly gates: readonly GateName[];
  readonly reason: string;
}

/** What all gates said, and what they were decided on: enough to see that nothing changed until the move. */
export interface PolicyResult {
  readonly passed: boolean;
  readonly gates: readonly GateResult[];
  /** Of the policy that was in force; absent when there was none. */
  readonly policy?: { readonly id: number; readonly digest: string };
  readonly override?: Override & { readonly by: string };
  /** The composed version that was tested. */
  readonly composed?: string;
  /** The newest evidence of the digest that was looked at. */
  readonly evidenceSeen: number;
  readonly at: string;
}

type GatedVersion = Pick<
  VersionRecord,
  'image' | 'version' | 'digest' | 'state' | 'sizeBytes' | 'restricted' | 'simulated' | 'createdAt'
>;

/** A time in which the channel pointed at the version; without an end it still does. */
export interface Stay {
  readonly from: string;
  readonly to?: string;
}

export interface GateFacts {
  readonly version: GatedVersion;
  readonly channel: Pick<ChannelRecord, 'name' | 'forTesting' | 'public' | 'simulated'>;
  /** All that is stored for the version's digest. */
  readonly evidence: readonly Evidence[];
  /** The channel that age is counted in, and the version's stays there; absent when there is no such channel. */
  readonly earlier?: { readonly name: string; readonly stays: readonly Stay[] };
  /** What the channel points at now, with its evidence; absent when it points at nothing or at the version itself. */
  readonly before?: { readonly version: GatedVersion; readonly evidence: readonly Evidence[] };
  /** The newest composed version of the digest that passed. */
  readonly composed?: ComposedVersion & { readonly id: string };
  /** What the agent on the disk can do, as the newest test found it; absent when nobody could look. */
  readonly offers?: AgentOffers;
  readonly followers: readonly Follower[];
  /** The newest move in which the version passed the channel's gates, without an override; absent if it never did. */
  readonly earlierMove?: number;
  /** All that the version bears, where the policy asks for signatures. */
  readonly signatures?: readonly GatedSignature[];
  /** Who requests the promotion. */
  readonly requester: Requester;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What the agent of an image can do with a node config, and the versions of components that it can choose from. */
export interface AgentOffers {
  readonly abilities: readonly string[];
  readonly components: Readonly<Record<string, readonly string[]>>;
  /** There are others, which are private. */
  readonly hidesComponents?: true;
}

/** A pool that follows the channel, by its node config. */
export interface Follower {
  readonly name: string;
  /** That it is written in; absent when there is no config. */
  readonly schemaVersion?: number;
  /** What the config asks of the agent, said or by its fields. */
  readonly requires: readonly string[];
}

/** Each gate that stands before the channel, in the order of `gateNames`. */
export function evaluateGates(policy: ChannelPolicy, facts: GateFacts): readonly GateResult[] {
  const results = [
    facts.version.simulated === facts.channel.simulated ? undefined : realGate(facts),
    facts.channel.forTesting ? undefined : testedGate(facts),
    facts.channel.public ? restrictedGate(facts) : undefined,
    policy.signed && signedGate(policy.signed, facts),
    policy.age && ageGate(policy.age, facts),
    policy.scan && scanGate(policy.scan, facts),
    policy.budgets && budgetsGate(policy.budgets, facts),
    policy.size && sizeGate(policy.size, facts),
    policy.approvals && approvalsGate(policy.approvals, facts),
    policy.freeze && freezeGate(policy.freeze, facts),
    policy.nodeConfig && nodeConfigGate(facts),
  ];
  return results.filter((result) => result !== undefined);
}

export interface Verdict {
  readonly passed: boolean;
  readonly gates: readonly GateResult[];
}

/** Marks what an admin overrides. Gates that are open, or firm, are never marked. */
export function withOverride(
  gates: readonly GateResult[],
  overridden: readonly GateName[] | undefined,
): Verdict {
  const marked = gates.map((result) =>
    !result.passed && !firmGates.has(result.gate) && overridden?.includes(result.gate)
      ? { ...result, overridden: true as const }
      : result,
  );
  return { passed: marked.every(isOpen), gates: marked };
}

export function isOpen({ passed, overridden }: GateResult): boolean {
  return passed || overridden === true;
}

/**
 * When the closed gates may be looked at again: the time that time alone opens them, or `people` when someone has
 * to speak first; `undefined` when neither helps, and waiting is of no use.
 */
export function whenOpen(gates: readonly GateResult[]): number | 'people' | undefined {
  const closed = gates.filter((gate) => !isOpen(gate));
  if (closed.some(({ opensAt, waitsForPeople }) => opensAt === undefined && waitsForPeople !== true)) {
    return undefined;
  }
  const times = closed.flatMap(({ opensAt }) => (opensAt === undefined ? [] : [Date.parse(opensAt)]));
  return times.length === 0 ? 'people' : Math.max(...times);
}

/** One line for people: `✗ approvals: needs 2 of role publisher; 1 (ann)`. */
export function describeGate({ gate, passed, needs, value, opensAt, overridden }: GateResult): string {
  const mark = passed ? '✓' : overridden ? '!' : '✗';
  const later = !passed && opensAt !== undefined ? `; opens at ${opensAt}` : '';
  return `${mark} ${gate}: needs ${needs}; ${value}${later}${overridden ? '; overridden' : ''}`;
}
