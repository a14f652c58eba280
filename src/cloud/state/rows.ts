// The rows of the tables in schema.ts. All times are whole milliseconds of the cloud's clock. Work that takes time
// has the time at which it ends in its row; `null` means that the executor has not finished it.
import type { GalleryImage } from '../../ports/provider/gallery.ts';
import type { MachineSpec } from '../../ports/provider/machines.ts';
import type { Orchestration } from '../../ports/provider/pools.ts';

export interface GalleryRow {
  readonly name: string;
  readonly region: string;
  readonly description: string | null;
}

export interface ImageRow {
  readonly gallery: string;
  readonly name: string;
  readonly os: GalleryImage['os'];
  readonly architecture: GalleryImage['architecture'];
  readonly generation: GalleryImage['generation'];
  readonly osState: NonNullable<GalleryImage['osState']>;
  readonly description: string | null;
}

/** Why something failed; the code is `null` if it did not. */
interface Failure {
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

interface Lifetime {
  readonly createdAt: number;
  /** When the deletion was asked for, and when it is complete. */
  readonly deletedAt: number | null;
  readonly goneAt: number | null;
}

/** The bytes of a disk: their names, their size, and what a simulated disk does when it boots. */
export interface DiskContent {
  /** The digest of the manifest in the store; `null` where the cloud has no store, or it is not yet known. */
  readonly digest: string | null;
  /** The sha256 of the raw disk; `null` until it is known. */
  readonly diskDigest: string | null;
  readonly diskBytes: number | null;
  /** JSON, `{}` for a real disk. */
  readonly traits: string;
}

export interface VersionKey {
  readonly gallery: string;
  readonly image: string;
  readonly version: string;
}

export interface VersionRow extends VersionKey, DiskContent, Lifetime {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** JSON. */
  readonly source: string;
  readonly excludeFromLatest: number;
  readonly endOfLife: string | null;
  readonly blockDeletion: number;
  readonly tags: string;
  /** When the last change of the version itself ends. */
  readonly busyUntil: number;
}

/** The copy of a version in one region. Without `startsAt` it waits for a first copy that failed. */
export interface CopyRow extends VersionKey, Failure {
  readonly region: string;
  /** 0 is the copy that the bytes arrive at, and that the others are made from. */
  readonly position: number;
  readonly replicas: number;
  readonly excludeFromLatest: number | null;
  readonly addedAt: number;
  readonly startsAt: number | null;
  readonly readyAt: number | null;
}

/** A snapshot. Its content is the disk's own; `digest` is that of the version under it. */
export interface SnapshotRow extends DiskContent, Failure, Lifetime {
  readonly name: string;
  readonly disk: string;
  readonly machineId: string;
  readonly tags: string;
  readonly region: string;
  readonly readyAt: number | null;
}

export interface PoolRow extends Lifetime {
  readonly name: string;
  readonly region: string;
  readonly orchestration: Orchestration;
  /** The hash of its model; models are kept for the nodes that were made from them. */
  readonly model: string;
  readonly capacity: number;
  readonly etag: number;
  readonly nextOrdinal: number;
  /** When its first nodes were all made, or failed. */
  readonly madeAt: number | null;
  /** When the last change ends; `null` if that follows from its machines. */
  readonly busyUntil: number | null;
}

/** A single machine, or the node of a pool. */
export interface MachineRow extends Pick<DiskContent, 'digest' | 'diskBytes' | 'traits'>, Failure, Lifetime {
  readonly machineId: string;
  /** `null` for a single machine. */
  readonly pool: string | null;
  readonly name: string;
  readonly ordinal: number;
  readonly region: string;
  readonly zone: string | null;
  /** JSON, for a single machine. */
  readonly spec: string | null;
  readonly firmware: MachineSpec['firmware'];
  /** Whether its agent makes it a node; a specialized machine is complete when it runs. */
  readonly generalized: number;
  /** For a node: the models that its disk was made from, and that it was last brought to. */
  readonly diskModel: string | null;
  readonly appliedModel: string | null;
  /** For a node: its own config if it was given one, when, and the one that was active then. */
  readonly userData: string | null;
  readonly userDataBefore: string | null;
  readonly userDataAt: number | null;
  /** Counts its disks; 0 while it has none. `digest` is that of the version that the disk was made from. */
  readonly disk: number;
  readonly imagedAt: number;
  /** The work in progress until `readyAt`. */
  readonly busyWith: 'creating' | 'updating' | null;
  readonly readyAt: number | null;
  readonly powerTo: 'running' | 'stopped';
  /** When that was asked for, and when it is reached. */
  readonly powerSince: number;
  readonly powerAt: number | null;
  /** When it was, or will be, last switched on. */
  readonly bootedAt: number | null;
  readonly protectScaleIn: number;
  readonly protectActions: number;

  /** The work that is due on this host: a disk of that version, with the model that comes with it; … */
  readonly nextDigest: string | null;
  readonly nextModel: string | null;
  readonly powerDue: number;
  readonly metadataDue: number;
  readonly resizeDue: number;
  /** It is not complete before its agent has reported. */
  readonly needsReport: number;
  /** It ran when everything was stopped, and runs again when everything starts. */
  readonly resume: number;
}
