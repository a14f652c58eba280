// What the parts of the image store work with.

import type { Lock } from '../domain/lock/lock.ts';
import type { AddressGuard } from '../host/network/address-guard.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import type { Credentials } from '../oci/registry/auth.ts';
import type { KeyFolder } from '../oci/signatures/key-folder.ts';
import type { Watch } from '../ports/image-store/image-store.ts';

export interface VersionsContext {
  /** The addresses that registry references can have. */
  readonly guard?: AddressGuard | undefined;
  /** Opened when it is first needed. */
  readonly store: () => Promise<DiskStore>;
  /** For uploads and unfinished files. */
  readonly workFolder: string;
  readonly keys: KeyFolder;
  readonly passphrase?: string | undefined;
  /** Whether the first build makes a signing key. */
  readonly signs: boolean;
  /** Imago's own version. */
  readonly tool: string;
  readonly findCredentials: (registry: string) => Promise<Credentials | undefined>;
  /** Builds the raw disk of a lock again; it is deleted when `use` has finished. */
  readonly rebuild?: (lock: Lock, watch: Watch, use: (path: string) => Promise<void>) => Promise<void>;
  /** Where the build cache has an input, if it has it whole. */
  readonly findInput?: (sha256: string) => Promise<string | undefined>;
  /**
   * Brings one input of a lock from its source into the build cache, and says where it is then; also a part of a
   * container image. `undefined` when it cannot be had.
   */
  readonly fetchInput?: (lock: Lock, sha256: string, signal: AbortSignal) => Promise<string | undefined>;
  readonly now: () => number;
}
