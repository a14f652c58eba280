// What a test measured, as it stands in its evidence: `details.measures`, numbers by name.
import type { Evidence } from './evidence.ts';

export function readMeasures(test: Pick<Evidence, 'details'> | undefined): ReadonlyMap<string, number> {
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
