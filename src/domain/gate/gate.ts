// Gates: what must hold before a channel moves. Pure: the caller passes in what is known, with the time, so that the same
// facts give the same answer in a dry run, in the operation, and at the move.
import type { GateResult } from '../channel/decision.ts';
import type { GateFacts } from './facts.ts';
import { realGate, restrictedGate, testedGate } from './firm.ts';
import { type ChannelGates, policyGateNames, policyGates, shownName } from './policy-gates.ts';

/** No admin can override these. */
export const firmGates: ReadonlySet<string> = new Set(['real', 'tested', 'restricted']);
export const gateNames = [...firmGates, ...policyGateNames.map(shownName)];

/** Each gate of the channel, in the order of `gateNames`. */
export function evaluateGates(policy: ChannelGates, facts: GateFacts): readonly GateResult[] {
  const firm = [
    facts.version.simulated === facts.channel.simulated ? undefined : realGate(facts),
    facts.channel.forTesting ? undefined : testedGate(facts),
    facts.channel.public ? restrictedGate(facts) : undefined,
  ].filter((result) => result !== undefined);
  const asked = policyGateNames.flatMap((name) => {
    const settings = policy[name];
    if (settings === undefined) return [];
    return [{ gate: shownName(name), ...policyGates[name].check(settings as never, facts) }];
  });
  return [...firm, ...asked];
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
