// Snapshots of disks: what a capture is made through.
import type { Page, PageQuery } from './page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './provider.ts';

export interface SnapshotSpec {
  readonly name: string;
  /** The disk, as `ProviderNode.osDisk` names it. */
  readonly disk: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface Snapshot extends SnapshotSpec {
  readonly state: ProvisioningState;
  readonly sizeBytes: number;
  readonly createdAt: string;
  readonly error?: ProvisioningError;
}

export interface Disks {
  /** Starts a snapshot. The same disk again adopts it. */
  createSnapshot(spec: SnapshotSpec, options: CallOptions): Promise<void>;
  getSnapshot(name: string, options: CallOptions): Promise<Snapshot | undefined>;
  listSnapshots(query: PageQuery, options: CallOptions): Promise<Page<Snapshot>>;
  deleteSnapshot(name: string, options: CallOptions): Promise<void>;
}
