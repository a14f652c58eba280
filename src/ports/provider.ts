// What makes machines and disks, as small roles with stated abilities. A provider implements the roles it
// has; commands that need another are refused with the reason before anything starts.
//
// Rules for every method of every role:
// - Names are given by the caller and deterministic. A method that makes something starts the making and
//   returns when the provider has accepted it; `get` tells when it is `ready` or `failed`. Calling it again
//   with the same name and the same content changes nothing; with other content it throws `provider-conflict`.
// - `get` of something that does not exist returns `undefined`. Deleting it succeeds. Any other call on it
//   throws `provider-not-found`.
// - A thrown `provider-no-reply` or `provider-timeout` leaves open whether the call took effect: read back.
// - `provider-throttled` is retryable; its `details.retryAfterMs` says when.
import type { Clock } from './clock.ts';
import type { Builder } from './provider-builder.ts';
import type { Disks } from './provider-disks.ts';
import type { Gallery } from './provider-gallery.ts';
import type { Machines } from './provider-machines.ts';
import type { Pools } from './provider-pools.ts';

export type ProviderName = 'local' | 'azure' | 'sim';

/** Passed with every call. */
export interface CallOptions {
  readonly signal: AbortSignal;
  /**
   * The epoch of the daemon that acts. A provider that can compare refuses a smaller one than it has seen
   * with `owner-stale`, so that a daemon which lost its lease cannot write late.
   */
  readonly epoch: number;
}

/** What this provider can do beyond the roles; shown by `imago doctor` and checked before an operation starts. */
export interface Abilities {
  /** Nodes of a pool are changed to the model in place (`uniform`), or only replaced (`flexible`). */
  readonly orchestration: readonly ('uniform' | 'flexible')[];
  /** A node can be given a new disk from the model and keep its name. */
  readonly reimage: boolean;
  readonly protect: boolean;
  /** Regions that versions can be copied to; empty when the provider has only one place. */
  readonly regions: readonly string[];
  /** Versions can be taken out of the gallery's own idea of `latest`. */
  readonly excludeFromLatest: boolean;
  /** The gallery can give back a digest of the disk that it holds. */
  readonly galleryDigest: boolean;
  readonly snapshots: boolean;
  /** Time at the provider runs by another clock than the daemon's. */
  readonly ownClock: boolean;
}

export interface Provider {
  readonly name: ProviderName;
  readonly abilities: Abilities;
  /** The time that passes at the provider: waiting for its work is done by this clock. */
  readonly clock: Clock;
  readonly gallery?: Gallery;
  readonly pools?: Pools;
  readonly machines?: Machines;
  readonly disks?: Disks;
  readonly builder?: Builder;
  /** Lets go of connections and files. What the provider holds goes on living. */
  close(): Promise<void>;
}

/** How far something that takes long has come. */
export type ProvisioningState = 'creating' | 'updating' | 'ready' | 'failed' | 'deleting';

/** Why something is `failed`, in the provider's words. */
export interface ProvisioningError {
  readonly code: string;
  readonly message: string;
}
