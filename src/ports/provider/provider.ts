// What makes machines and disks, as small roles with stated abilities. A provider implements the roles it
// has; commands that need another are refused with the reason before anything starts.
//
// Rules for every method of every role:
// - Names are given by the caller and deterministic. A method that makes something starts the making and
//   returns when the provider has accepted it; `get` tells when it is `ready` or `failed`. Calling it again
//   with the same name and the same content changes nothing; with other content it throws `provider-conflict`.
// - `get` of something that does not exist returns `undefined`. Deleting it succeeds. Any other call on it,
//   also a list of what is inside it, throws `provider-not-found`.
// - What is being deleted is shown as `deleting` until it is gone. Deleting it again changes nothing; making
//   it again, or changing it, throws a `provider-conflict` that is retryable: the name becomes free.
// - A `provider-conflict` because other work on the same thing is in progress is retryable too; one because
//   content or etag differ is not.
// - A value that cannot be right (unknown region, negative capacity, malformed name) throws an error of kind
//   `input`; one that passes a limit throws `provider-quota`; one that needs a missing ability throws
//   `provider-lacks`. None of them changes anything.
// - A thrown `provider-no-reply` or `provider-timeout` leaves open whether the call took effect: read back.
// - `provider-throttled` is retryable; its `details.retryAfterMs` says when, by the provider's clock.
// - Every method stops waiting when `options.signal` is aborted, and rejects with the signal's reason. What
//   the provider had accepted by then goes on.
// - Lists give at most `limit` items a page, in an order that stays: what exists during the whole listing
//   comes exactly once, regardless of what is created or deleted in the meantime.
import type { ProviderName } from '../../domain/pool/pool.ts';
import type { Clock } from '../clock.ts';
import type { NodeAccess } from './access.ts';
import type { Builder } from './builder.ts';
import type { Disks } from './disks.ts';
import type { Galleries, Gallery } from './gallery.ts';
import type { Identities } from './identities.ts';
import type { Machines } from './machines.ts';
import type { NodeConfigs } from './node-configs.ts';
import type { Orchestration, Pools } from './pools.ts';

export type { ProviderName } from '../../domain/pool/pool.ts';

/** What this provider can do beyond the roles; shown by `imago doctor` and checked before an operation starts. */
export interface Abilities {
  /** Nodes of a pool are changed to the model in place (`uniform`), or only replaced (`flexible`). */
  readonly orchestration: readonly Orchestration[];
  /** A node of a uniform pool can be given a new disk from the model and keep its name. */
  readonly reimage: boolean;
  /** A node of a uniform pool can be brought to the model, with a new disk only when the image differs. */
  readonly upgrade: boolean;
  readonly protect: boolean;
  /**
   * The pools whose nodes can be given a config of their own; those of others only get that of their pool's model. Absent:
   * all.
   */
  readonly ownConfigs?: readonly Orchestration[];
  /**
   * Regions that versions can be copied to; empty when the provider has only one place. The first is where
   * galleries, pools and machines stand unless another is named.
   */
  readonly regions: readonly string[];
  /** Versions can be taken out of the gallery's own idea of `latest`. */
  readonly excludeFromLatest: boolean;
  /** Versions can be guarded against deletion before their end of life. */
  readonly deletionGuard: boolean;
  /** The gallery can give back a digest of the disk that it holds. */
  readonly galleryDigest: boolean;
  readonly snapshots: boolean;
  /** Ports of nodes can be reached from the host that they run on; absent where they cannot. */
  readonly forwards?: true;
  /** Scripts can be run in single machines. */
  readonly runCommand: boolean;
  /** It has machines with Windows. */
  readonly windows?: true;
  /** The provider compares epochs and refuses stale writers. */
  readonly fencing: boolean;
  /** Its machines are made up: what their scripts and disks say means nothing. */
  readonly simulated: boolean;
  /** An emulator plays the cloud: real versions can be copied there, and what it makes or says is not real. */
  readonly emulated?: true;
  /** What its machines need of a disk, beyond what all do. */
  readonly diskChecks?: 'azure';
  /** Time at the provider runs by another clock than the daemon's. */
  readonly ownClock: boolean;
}

export interface Provider {
  readonly name: ProviderName;
  readonly abilities: Abilities;
  /** What to do on this host so that the provider has the roles that are missing; a hint. */
  readonly remedy?: string;
  /** The time that passes at the provider: waiting for its work is done by this clock. */
  readonly clock: Clock;
  /** The gallery that versions go to unless another is named. */
  readonly gallery?: Gallery;
  /** Where a provider can have several, e.g. one for staging and one for production. */
  readonly galleries?: Galleries;
  readonly pools?: Pools;
  /** Where the config of a running node can be changed. */
  readonly nodeConfigs?: NodeConfigs;
  readonly machines?: Machines;
  readonly disks?: Disks;
  readonly builder?: Builder;
  /** Consoles, shells and timelines of machines and nodes. */
  readonly access?: NodeAccess;
  /** Where the provider vouches for its machines. */
  readonly identities?: Identities;
  /** Deletes what interrupted calls left behind. Called once an hour. */
  sweep?(signal: AbortSignal): Promise<void>;
  /** Closes connections and files. What the provider has keeps running. A second call does nothing. */
  close(): Promise<void>;
}
