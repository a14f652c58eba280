// How long things take in the simulated world, as data. The spread is deterministic: the same seed, kind and
// name give the same duration in every run.

/** Seconds. Half of all durations lie between `low` and `median`, the other half between `median` and `high`. */
export interface Duration {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** From recorded conversations with Azure. */
const measured = {
  /** A version of about 30 GB in its first region. */
  versionCreate: { low: 376, median: 423, high: 514 },
  /** Each further region; they go in parallel. */
  regionAdd: { low: 340, median: 376, high: 430 },
  versionUpdate: { low: 140, median: 150, high: 160 },
  versionDelete: { low: 91, median: 120, high: 150 },
  snapshotCreate: { low: 1, median: 2, high: 3 },
  poolModel: { low: 1, median: 12, high: 51 },
  nodeUpgrade: { low: 12, median: 14, high: 16 },
  nodeReimage: { low: 72, median: 80, high: 87 },
  nodeStop: { low: 15, median: 17, high: 20 },
} as const satisfies Record<string, Duration>;

/** Not recorded, but reported by users. */
const assumed = {
  nodeCreate: { low: 45, median: 60, high: 95 },
  /** Added for each further batch of machines that wait for the same copies of the image. */
  nodeBatch: { low: 2, median: 2, high: 2 },
  nodeStart: { low: 20, median: 30, high: 45 },
  nodeDelete: { low: 25, median: 40, high: 70 },
  poolDelete: { low: 40, median: 60, high: 90 },
  machineCreate: { low: 40, median: 55, high: 80 },
  machineDelete: { low: 20, median: 30, high: 50 },
  snapshotDelete: { low: 1, median: 2, high: 3 },
  /** From power on to the agent, and from there until everything is applied. */
  boot: { low: 12, median: 18, high: 30 },
  apply: { low: 6, median: 10, high: 20 },
  /** Until the provider sees that the image it was given is not there. */
  missingImage: { low: 5, median: 8, high: 15 },
  /** Until the provider gives up on a machine that does not come up. */
  provisioningTimeout: { low: 600, median: 600, high: 600 },
  lock: { low: 3, median: 5, high: 10 },
} as const satisfies Record<string, Duration>;

export const azureDurations = { ...measured, ...assumed };

export type DurationKind = keyof typeof azureDurations;
export type Durations = Readonly<Record<DurationKind, Duration>>;

/** Milliseconds for one piece of work. */
export type DurationOf = (kind: DurationKind, name: string) => number;

export function createDurationOf(durations: Durations, seed: string): DurationOf {
  return (kind, name) => Math.round(spread(durations[kind], fraction(`${seed}\n${kind}\n${name}`)) * 1000);
}

function spread({ low, median, high }: Duration, at: number): number {
  return at < 0.5 ? low + (median - low) * at * 2 : median + (high - median) * (at * 2 - 1);
}

/** From 0 up to, but not including, 1; evenly spread over texts (FNV-1a, then mixed). */
export function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
