// The limits of a subscription, as data. Tests set them low; the simulation allows larger pools than Azure.

export interface Limits {
  readonly galleries: number;
  readonly images: number;
  readonly versions: number;
  readonly versionsPerImage: number;
  readonly replicasPerVersion: number;
  readonly pools: number;
  readonly nodesPerPool: number;
  readonly machines: number;
  readonly snapshots: number;
  /** Machines that one copy of a version can start at the same time without making others wait. */
  readonly startsPerReplica: number;
}

const azureLimits = {
  galleries: 100,
  images: 1_000,
  versions: 10_000,
  versionsPerImage: 10_000,
  replicasPerVersion: 100,
  pools: 2_500,
  nodesPerPool: 1_000,
  machines: 25_000,
  snapshots: 50_000,
  startsPerReplica: 20,
} as const satisfies Limits;

export const simLimits = { ...azureLimits, nodesPerPool: 100_000 } as const satisfies Limits;
