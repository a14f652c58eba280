// Decides whether a gate became weaker: whether it can let something pass that it blocked before. What cannot be
// compared, such as another channel or another scanner, counts as weaker, because a person must look at it.
import { roles } from '../access/roles.ts';
import { findingLevels } from '../evidence/finding.ts';
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { type FreezeWindow, isOver } from './freeze.ts';
import type { ChannelGates, GateSettings } from './policy.ts';

type Gates = { readonly [K in keyof ChannelGates]-?: GateSettings<K> };
type Fields = Readonly<Record<string, boolean>>;
/** Returns for each field whether it is weaker after the change. */
type Comparison<G> = (before: G, after: G, now: number) => Fields;

const comparisons: { readonly [K in keyof Gates]: Comparison<Gates[K]> } = {
  signed: (before, after) => ({ by: !includesAll(after.by, before.by) || after.by?.length === 0 }),
  age: (before, after) => ({ in: before.in !== after.in, atLeast: after.atLeastMs < before.atLeastMs }),
  scan: (before, after) => ({
    noneAbove: levelOf(after.noneAbove) > levelOf(before.noneAbove),
    maxAge: exceeds(after.maxAgeMs, before.maxAgeMs),
    tool: before.tool !== after.tool,
    unknownAs: levelOf(after.unknownAs ?? 'high') < levelOf(before.unknownAs ?? 'high'),
  }),
  fresh: (before, after) => ({ security: after.securityMs > before.securityMs }),
  budgets: (before, after) => ({
    growth: after.growth > before.growth,
    // One measure that both versions have is enough, so that another measure can open the gate.
    measures:
      (before.measures === undefined) !== (after.measures === undefined) ||
      !includesAll(after.measures, before.measures) ||
      !includesAll(before.measures, after.measures),
  }),
  size: (before, after) => ({
    atMost: exceeds(after.atMostBytes, before.atMostBytes),
    growth: exceeds(after.growth, before.growth),
  }),
  approvals: (before, after) => ({
    count: after.count < before.count,
    role: roles.indexOf(after.role) < roles.indexOf(before.role),
    requester: after.requester === true && before.requester !== true,
  }),
  freeze: (before, after, now) => ({
    windows: !includesAll(after.map(timesOf), before.filter((window) => !isOver(window, now)).map(timesOf)),
  }),
  nodeConfig: () => ({}),
};

/** Returns the fields by which the gate is weaker; empty if it is at least as strict as before. */
export function weakerFields<K extends keyof Gates>(
  gate: K,
  before: Gates[K],
  after: Gates[K],
  now: number,
): readonly string[] {
  const fields = comparisons[gate](before, after, now);
  return Object.keys(fields).filter((name) => fields[name]);
}

function includesAll(all: readonly string[] = [], wanted: readonly string[] = []): boolean {
  return wanted.every((one) => all.includes(one));
}

function exceeds(after = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY): boolean {
  return after > before;
}

function levelOf(level: GateSettings<'scan'>['noneAbove']): number {
  return level === 'none' ? -1 : findingLevels.indexOf(level);
}

function timesOf({ why: _, ...times }: FreezeWindow): string {
  return canonicalJson(times as unknown as Json);
}
