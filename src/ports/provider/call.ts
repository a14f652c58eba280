// The types that all roles of a provider share.

/** Passed with every call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /**
   * The epoch of the daemon that acts. A provider that can compare (`abilities.fencing`) refuses writes with a
   * smaller one than it has seen in any call, with `owner-stale`, so that a daemon which lost its lease cannot
   * write late.
   */
  readonly epoch: number;
  /** Called by what takes long inside of one call, such as the upload of a disk. */
  readonly onProgress?: ((done: number, total: number, sentence: string) => void) | undefined;
}

/** How far something that takes long has come. */
export type ProvisioningState = 'creating' | 'updating' | 'ready' | 'failed' | 'deleting';

/** Why something is `failed`, as the provider reports it. */
export interface ProvisioningError {
  readonly code: string;
  readonly message: string;
}
