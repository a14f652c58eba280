// The model of a cloud: its state, the rules that differ between clouds as values, and the executor below it.
// The faces above it are the roles of a provider.
import { createHash } from 'node:crypto';
import type { CallOptions, ProvisioningError } from '../../ports/provider/call.ts';
import type { GalleryLimit } from '../../ports/provider/gallery.ts';
import type { Abilities } from '../../ports/provider/provider.ts';
import type { Limits } from './limits.ts';
import { invalid } from './refusals.ts';
import type { DiskContent, SnapshotRow, VersionKey, VersionRow } from './rows.ts';
import type { World } from './state-file.ts';

export interface Cloud {
  readonly world: World;
  readonly abilities: Abilities;
  /** Limits that are absent do not exist. */
  readonly limits: Partial<Limits>;
  /** The region of everything that names none, even where the cloud shows no regions. */
  readonly homeRegion: string;
  readonly defaultGallery: string;
  readonly longestGalleryName: number;
  readonly executor: Executor;
}

/** How a fault changes the work that a call starts. */
export interface Bend {
  /** The work takes this many times longer, where its duration is known. */
  readonly factor: number;
  /** The work ends failed with this error; with a region, only the copy there. */
  readonly failure?: ProvisioningError & { readonly region?: string };
}

/** The options of a call that passed through a wrapper that injects faults. */
export interface BentOptions extends CallOptions {
  readonly bend?: Bend;
}

export const straight: Bend = { factor: 1 };

export function bendOf(options: BentOptions): Bend {
  return options.bend ?? straight;
}

/** The kinds of work that a call starts and that take time. */
export type WorkKind =
  | 'versionCreate'
  | 'regionAdd'
  | 'versionUpdate'
  | 'versionDelete'
  | 'snapshotCreate'
  | 'snapshotDelete';

/**
 * What runs below the model. Methods that return no promise are called inside the transaction that changes a row;
 * the `workOn…` methods after it, each time that something may be due. They return immediately.
 */
export interface Executor {
  /** Returns when work that starts now ends; `null` if only the executor will know, which then writes it. */
  endOf(kind: WorkKind, name: string, bend: Bend): number | null;

  /** Finds the sealed disk whose raw bytes have this sha256. */
  findDisk(diskDigest: string): Promise<DiskContent | undefined>;
  /** Makes or deletes the version, as its row says. */
  workOnVersion(key: VersionKey): void;
  /** Reads every byte of the version's disk, and returns their sha256. */
  readDigest(version: VersionRow, signal: AbortSignal): Promise<string>;
  /** Returns the limits that do not follow from counting rows. */
  galleryLimits(): Promise<readonly GalleryLimit[]>;

  /** Finds the disk of a machine, with what a snapshot that is made now would hold. */
  captureDisk(disk: string): CapturedDisk | undefined;
  /** Copies the disk of the snapshot, or deletes the copy, as its row says. */
  workOnSnapshot(snapshot: SnapshotRow): void;
}

export type CapturedDisk = Pick<
  SnapshotRow,
  'machineId' | 'region' | 'digest' | 'diskDigest' | 'diskBytes' | 'traits'
>;

/** Returns the region that is meant. Throws `input-invalid` if the cloud does not have it. */
export function regionNamed({ abilities, homeRegion }: Cloud, region: string | undefined): string {
  if (region === undefined) return homeRegion;
  if (abilities.regions.includes(region)) return region;
  throw invalid(`The provider has no region ${region}.`);
}

/** SQL for rows that are not gone yet; what is being deleted is still among them. Takes the time as a parameter. */
export const stillThere = '(goneAt IS NULL OR goneAt > ?)';

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export function sha256(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}
