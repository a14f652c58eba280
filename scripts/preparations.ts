// Slow work that suites need done before they start: what is downloaded or compiled once per host and kept in the cache.

const minute = 60_000;

export const preparations = {
  'azure-cli': { what: "Azure's command line, from Debian's packages", limitMs: 20 * minute },
  'build-cache': { what: 'packages and layers of the test recipe', limitMs: 30 * minute },
  'debian-root': { what: 'a Debian root file system', limitMs: 20 * minute },
  kubernetes: { what: 'kubelet, kubectl, and a control plane, compiled from source', limitMs: 120 * minute },
} as const satisfies Record<string, Preparation>;

export interface Preparation {
  readonly what: string;
  /** The limit on a host of the reference speed. */
  readonly limitMs: number;
}

export type PreparationName = keyof typeof preparations;
export const preparationNames = Object.keys(preparations) as PreparationName[];
