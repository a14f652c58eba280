// The gate of scans: the newest report of each tool counts, and none at all is not passed. Levels are counted
// when a report is attached; what they mean is decided here, by the policy of the day.

import type { GateResult } from '../channel/decision.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { type FindingLevel, findingLevels, type LevelCounts } from '../evidence/finding.ts';
import type { GateSettings } from '../policy/policy.ts';
import { formatDuration } from '../value/duration.ts';
import type { GateFacts } from './facts.ts';

interface Scan {
  readonly evidence: Evidence;
  readonly tool: string;
  readonly counts: LevelCounts;
}

export function scanGate(asked: GateSettings<'scan'>, { version, evidence, now }: GateFacts): GateResult {
  const { noneAbove, maxAgeMs, tool } = asked;
  const by = tool === undefined ? '' : ` of ${tool}`;
  const fresh = maxAgeMs === undefined ? '' : `, at most ${formatDuration(maxAgeMs)} old`;
  const needs = `no finding ${noneAbove === 'none' ? 'at all' : `above ${noneAbove}`} in the newest report${by}${fresh}`;
  const scans = newestScans(evidence, version.digest).filter(
    (scan) => tool === undefined || scan.tool === tool,
  );
  if (scans.length === 0) {
    return { gate: 'scan', needs, passed: false, value: `no report${by} is attached`, waitsForPeople: true };
  }
  const judged = scans.map((scan) => judge(scan, asked, now));
  return {
    gate: 'scan',
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
  { noneAbove, maxAgeMs, unknownAs = 'high' }: GateSettings<'scan'>,
  now: number,
): { readonly passed: boolean; readonly found: boolean; readonly sentence: string } {
  const bound = noneAbove === 'none' ? -1 : findingLevels.indexOf(noneAbove);
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
