// The gate of scans: the newest report of each tool counts, and without a report it does not pass. Levels are counted
// when a report is attached; the policy of the day decides what they mean.
import * as z from 'zod';
import type { Evidence } from '../evidence/evidence.ts';
import { type FindingLevel, findingLevels, type LevelCounts } from '../evidence/finding.ts';
import { formatDuration } from '../value/duration.ts';
import { defineGate, duration, exceeds, type Finding } from './define-gate.ts';
import type { GateFacts } from './facts.ts';

interface ScanSettings {
  readonly noneAbove: FindingLevel | 'none';
  readonly maxAgeMs?: number;
  readonly tool?: string | undefined;
  readonly unknownAs?: FindingLevel | undefined;
}

export const scanGate = defineGate({
  settings: z
    .strictObject({
      noneAbove: z.enum([...findingLevels, 'none']).describe('Highest allowed level of a finding.'),
      maxAge: duration.optional().describe('Maximum age of the report.'),
      tool: z.string().min(1).optional().describe('Accept only reports of this tool.'),
      unknownAs: z
        .enum(findingLevels)
        .optional()
        .describe('Level of findings without one. Defaults to high.'),
    })
    .transform(
      ({ maxAge, ...rest }): ScanSettings => ({
        ...rest,
        ...(maxAge === undefined ? {} : { maxAgeMs: maxAge }),
      }),
    )
    .describe('Findings in the latest report of each tool. Blocks if no report is attached.'),
  check,
  weaker: (before, after) => ({
    noneAbove: levelOf(after.noneAbove) > levelOf(before.noneAbove),
    maxAge: exceeds(after.maxAgeMs, before.maxAgeMs),
    tool: before.tool !== after.tool,
    unknownAs: levelOf(after.unknownAs ?? 'high') < levelOf(before.unknownAs ?? 'high'),
  }),
});

interface Scan {
  readonly evidence: Evidence;
  readonly tool: string;
  readonly counts: LevelCounts;
}

function check(asked: ScanSettings, { version, evidence, now }: GateFacts): Finding {
  const { noneAbove, maxAgeMs, tool } = asked;
  const by = tool === undefined ? '' : ` of ${tool}`;
  const fresh = maxAgeMs === undefined ? '' : `, at most ${formatDuration(maxAgeMs)} old`;
  const needs = `no finding ${noneAbove === 'none' ? 'at all' : `above ${noneAbove}`} in the newest report${by}${fresh}`;
  const scans = newestScans(evidence, version.digest).filter(
    (scan) => tool === undefined || scan.tool === tool,
  );
  if (scans.length === 0) {
    return { needs, passed: false, value: `no report${by} is attached`, waitsForPeople: true };
  }
  const judged = scans.map((scan) => judge(scan, asked, now));
  return {
    needs,
    passed: judged.every(({ passed }) => passed),
    value: judged.map(({ sentence }) => sentence).join('; '),
    evidence: scans.map((scan) => scan.evidence.id),
    // A newer report can pass, unless the current one has findings.
    ...(judged.some(({ found }) => found) ? {} : { waitsForPeople: true as const }),
  };
}

function judge(
  { evidence, tool, counts }: Scan,
  { noneAbove, maxAgeMs, unknownAs = 'high' }: ScanSettings,
  now: number,
): { readonly passed: boolean; readonly found: boolean; readonly sentence: string } {
  const bound = levelOf(noneAbove);
  const above = levelsOf(counts).filter(
    ([level, count]) => count > 0 && findingLevels.indexOf(level === 'unknown' ? unknownAs : level) > bound,
  );
  const ageMs = Math.max(0, now - Date.parse(evidence.at));
  const tooOld = maxAgeMs !== undefined && ageMs > maxAgeMs;
  const found = levelsOf(counts)
    .filter(([, count]) => count > 0)
    .map(([level, count]) => `${count} ${level}`);
  const age = tooOld ? `, ${formatDuration(ageMs)} old` : '';
  return {
    passed: above.length === 0 && !tooOld,
    found: above.length > 0,
    sentence: `${tool}: ${found.length === 0 ? 'no finding' : found.join(', ')}${age}`,
  };
}

function levelOf(level: ScanSettings['noneAbove']): number {
  return level === 'none' ? -1 : findingLevels.indexOf(level);
}

function levelsOf(counts: LevelCounts): readonly (readonly [FindingLevel | 'unknown', number])[] {
  return [...findingLevels.toReversed(), 'unknown' as const].map((level) => [level, counts[level]] as const);
}

function newestScans(evidence: readonly Evidence[], digest: string): readonly Scan[] {
  const newest = new Map<string, Scan>();
  for (const item of evidence) {
    if (item.kind !== 'scan' || item.digest !== digest) continue;
    const scan = readScan(item);
    const known = newest.get(scan.tool);
    if (known === undefined || known.evidence.id < item.id) newest.set(scan.tool, scan);
  }
  return [...newest.values()];
}

/** Evidence that has no counts counts as an unknown finding: it was never read as a report. */
function readScan(evidence: Evidence): Scan {
  const details = Object(evidence.details) as { readonly tool?: unknown; readonly counts?: unknown };
  const counts = Object(details.counts) as Readonly<Record<string, unknown>>;
  const count = (level: string, otherwise: number) => {
    const value = counts[level];
    return typeof value === 'number' ? value : otherwise;
  };
  return {
    evidence,
    tool: typeof details.tool === 'string' ? details.tool : 'unknown',
    counts: {
      critical: count('critical', 0),
      high: count('high', 0),
      medium: count('medium', 0),
      low: count('low', 0),
      unknown: count('unknown', 1),
    },
  };
}
