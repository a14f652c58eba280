// The gate of budgets: measures of the newest test, compared with those of the version that the channel points at.
import * as z from 'zod';
import { type Evidence, newestTest } from '../evidence/evidence.ts';
import { defineGate, type Finding, includesAll } from './define-gate.ts';
import type { GateFacts } from './facts.ts';
import { growth, growthOf, percent, signedPercent } from './growth.ts';

const settings = z
  .strictObject({
    growth: growth.describe('Maximum growth of a measurement since the previous version.'),
    measures: z.array(z.string().min(1)).min(1).optional(),
  })
  .describe('Test measurements, compared to the current version of the channel.');
type BudgetSettings = z.output<typeof settings>;

export const budgetsGate = defineGate({
  settings,
  check,
  weaker: (before, after) => ({
    growth: after.growth > before.growth,
    // One measure that both versions have is enough, so that another measure can open the gate.
    measures:
      (before.measures === undefined) !== (after.measures === undefined) ||
      !includesAll(after.measures, before.measures) ||
      !includesAll(before.measures, after.measures),
  }),
});

function check({ growth: most, measures: wanted }: BudgetSettings, facts: GateFacts): Finding {
  const asked = { needs: `no measure more than ${percent(most)} above the version before` };
  const mine = newestTest(facts.version.digest, facts.evidence);
  const evidence = mine === undefined ? {} : { evidence: [mine.id] };
  const measured = readMeasures(mine);
  const missing = (wanted ?? []).filter((name) => !measured.has(name));
  if (missing.length > 0) {
    return { ...asked, ...evidence, passed: false, value: `not measured: ${missing.join(', ')}` };
  }
  if (facts.before === undefined) {
    return { ...asked, ...evidence, passed: true, value: 'there is no version before' };
  }
  const { version, evidence: theirs } = facts.before;
  const earlier = readMeasures(newestTest(version.digest, theirs));
  const names = [...measured.keys()].filter(
    (name) => earlier.has(name) && (wanted === undefined || wanted.includes(name)),
  );
  if (names.length === 0) {
    return {
      ...asked,
      ...evidence,
      passed: false,
      value: `nothing was measured of both it and ${version.version}`,
    };
  }
  const compared = names.map((name) => compare(name, earlier.get(name) ?? 0, measured.get(name) ?? 0));
  return {
    ...asked,
    ...evidence,
    passed: compared.every(({ grown }) => grown <= most),
    value: compared.map(({ sentence }) => sentence).join(', '),
  };
}

function compare(
  name: string,
  before: number,
  after: number,
): { readonly grown: number; readonly sentence: string } {
  const grown = growthOf(before, after);
  return { grown, sentence: `${name} ${before} → ${after} (${signedPercent(grown)})` };
}

/** Returns the numbers that a test measured, by name: `details.measures` of its evidence. */
function readMeasures(test: Pick<Evidence, 'details'> | undefined): ReadonlyMap<string, number> {
  const details = test?.details;
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return new Map();
  const measures = (details as Readonly<Record<string, unknown>>).measures;
  if (typeof measures !== 'object' || measures === null) return new Map();
  return new Map(
    Object.entries(measures).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
    ),
  );
}
