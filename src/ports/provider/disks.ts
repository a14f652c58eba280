// Snapshots of disks: what a capture is made through.
import type { Page, PageQuery } from '../page.ts';
import type { SealedDisk } from './builder.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './call.ts';

export interface SnapshotSpec {
  readonly name: string;
  /** The disk, as `ProviderNode.osDisk` or `Machine.osDisk` names it. */
  readonly disk: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface Snapshot extends SnapshotSpec {
  /** Where it lies: the region of its disk. Absent when the provider has only one place. */
  readonly region?: string;
  readonly state: ProvisioningState;
  readonly sizeBytes: number;
  readonly createdAt: string;
  readonly error?: ProvisioningError;
}

/** The copy of a node's disk, cleaned, scanned, and sealed. */
export interface CapturedDisk extends SealedDisk {
  /** How many paths the cleaning removed or rewrote. */
  readonly cleaned: number;
  readonly files: number;
}

export interface Disks {
  /**
   * Starts a snapshot of the disk as it is now. The same disk again adopts the one there is, as it was then;
   * another disk is `provider-conflict`. `provider-not-found` when there is no such disk. Needs
   * `abilities.snapshots`.
   */
  createSnapshot(spec: SnapshotSpec, options: CallOptions): Promise<void>;
  getSnapshot(name: string, options: CallOptions): Promise<Snapshot | undefined>;
  /** In the order of their names. */
  listSnapshots(query: PageQuery, options: CallOptions): Promise<Page<Snapshot>>;
  /** Versions made from it stay whole. A retryable `provider-conflict` while one is still being made from it. */
  deleteSnapshot(name: string, options: CallOptions): Promise<void>;
  /**
   * Seals the disk of a snapshot as a disk of the image. A real provider writes a copy to a raw file, which `seal` cleans,
   * scans, and stores, and deletes the file afterwards; a simulated one makes up the result. The snapshot stays as it is.
   * Throws what `seal` throws, and `provider-not-found` if the snapshot does not exist. Absent where the disks of
   * snapshots cannot be read.
   */
  sealSnapshot?(
    name: string,
    image: string,
    seal: (path: string) => Promise<CapturedDisk>,
    options: CallOptions,
  ): Promise<CapturedDisk>;
}
