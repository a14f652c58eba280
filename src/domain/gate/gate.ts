// Gates: what must hold before a channel moves. Pure: whoever decides passes in what is known, with the time, and
// the same facts give the same answer in a dry run, in the operation and at the move itself.
import type { GateResult } from '../channel/decision.ts';
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
import type { GateFacts, GateName } from './facts.ts';
import { freshGate } from './fresh.ts';
import { signedGate } from './signed.ts';

/** No admin can override these. */
export const firmGates: ReadonlySet<string> = new Set<GateName>(['real', 'tested', 'restricted']);

/** Each gate that stands before the channel, in the order of `gateNames`. */
export function evaluateGates(policy: ChannelPolicy, facts: GateFacts): readonly GateResult[] {
  const results = [
    facts.version.simulated === facts.channel.simulated ? undefined : realGate(facts),
    facts.channel.forTesting ? undefined : testedGate(facts),
    facts.channel.public ? restrictedGate(facts) : undefined,
    policy.signed && signedGate(policy.signed, facts),
    policy.age && ageGate(policy.age, facts),
    policy.scan && scanGate(policy.scan, facts),
    policy.fresh && freshGate(policy.fresh, facts),
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
  overridden: readonly string[] | undefined,
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
