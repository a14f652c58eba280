// Findings of scanners, in one form for all report formats.

/** From the least to the worst. */
export const findingLevels = ['low', 'medium', 'high', 'critical'] as const;
export type FindingLevel = (typeof findingLevels)[number];

export const reportFormats = ['sarif', 'cyclonedx', 'trivy'] as const;
export type ReportFormat = (typeof reportFormats)[number];

export interface Finding {
  readonly id: string;
  /** Absent when the scanner gives none. */
  readonly level?: FindingLevel;
  /** Where: a package with its version, or a file. */
  readonly where?: string;
}

export interface ScanReport {
  readonly format: ReportFormat;
  /** The scanner's name, with which reports of one tool follow each other. */
  readonly tool: string;
  readonly toolVersion?: string;
  /** Without those that are said not to matter (VEX, suppressions). */
  readonly findings: readonly Finding[];
  /** How many were said not to matter. */
  readonly dismissed: number;
  /** The sha256 of what was scanned, where the report says. */
  readonly subjects: readonly string[];
}

export type LevelCounts = Readonly<Record<FindingLevel | 'unknown', number>>;

export function countLevels(findings: readonly Finding[]): LevelCounts {
  const counts = { critical: 0, high: 0, medium: 0, low: 0, unknown: 0 };
  for (const { level } of findings) counts[level ?? 'unknown'] += 1;
  return counts;
}
