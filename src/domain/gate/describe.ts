// Describes the result of a gate. It is separate from the gates, so that the command line does not load their rules.
import type { GateResult } from '../channel/decision.ts';

/** Describes a result in one line: `✗ approvals: needs 2 of role publisher; 1 (ann)`. */
export function describeGate({ gate, passed, needs, value, opensAt, overridden }: GateResult): string {
  const mark = passed ? '✓' : overridden ? '!' : '✗';
  const later = !passed && opensAt !== undefined ? `; opens at ${opensAt}` : '';
  return `${mark} ${gate}: needs ${needs}; ${value}${later}${overridden ? '; overridden' : ''}`;
}
