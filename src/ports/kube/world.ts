// What the simulated cluster needs of the simulated world: its machines, and a place where its objects outlive the
// process.

export interface WorldMachine {
  readonly name: string;
  readonly machineId: string;
  readonly pool: string;
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  /** Its kubelet is running: the machine is on, and its agent has reported ready. */
  readonly ready: boolean;
  /** The version of its kubelet. */
  readonly kubernetes?: string | undefined;
}

export interface ClusterWorld {
  /** Returns the machines of all pools, or those with this name. Deleted ones are not included. */
  machines(name?: string): readonly WorldMachine[];
  /** The objects that were kept, as JSON, by their keys. */
  objects(): ReadonlyMap<string, string>;
  /** Keeps an object, or forgets it. */
  keep(key: string, object: string | undefined): void;
}
