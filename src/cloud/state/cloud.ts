// The model of a cloud: its state, the rules that differ between clouds as values, and the executor below it.
// The faces above it are the roles of a provider.
import { createHash } from 'node:crypto';
import { invalid } from '../../domain/error/refusals.ts';
import type { NodeReport } from '../../domain/node/report.ts';
import type { CallOptions, ProvisioningError } from '../../ports/provider/call.ts';
import type { CapturedDisk } from '../../ports/provider/disks.ts';
import type { GalleryLimit } from '../../ports/provider/gallery.ts';
import type { MachineCommand, MachineCommandResult, MachineReport } from '../../ports/provider/machines.ts';
import type { AllowedChange } from '../../ports/provider/node-configs.ts';
import type { NodePower, ProviderNode } from '../../ports/provider/pools.ts';
import type { Abilities } from '../../ports/provider/provider.ts';
import type { Limits } from './limits.ts';
import type { DiskContent, MachineRow, SnapshotRow, VersionKey, VersionRow } from './rows.ts';
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
  /** Numbers the nodes of uniform pools: `web-000010` is the eleventh node, or the 37th. */
  readonly nodeNumberRadix: 10 | 36;
  /** New nodes are spread over these. */
  readonly zones: readonly string[];
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
  | 'snapshotDelete'
  | 'poolModel'
  | 'poolDelete'
  | 'nodeCreate'
  | 'nodeReimage'
  | 'nodeUpgrade'
  | 'nodeStart'
  | 'nodeStop'
  | 'nodeDelete'
  | 'machineCreate'
  | 'machineDelete';

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
  /** Returns how far a copy is whose end is not known, in percent. Absent: 0 until it has ended. */
  copyPercent?(key: VersionKey, region: string): number;
  /** Reads every byte of the version's disk, and returns their sha256. */
  readDigest(version: VersionRow, signal: AbortSignal): Promise<string>;
  /** Returns the limits that do not follow from counting rows. */
  galleryLimits(): Promise<readonly GalleryLimit[]>;

  /** Returns the content that a snapshot of the machine's disk would have now, as far as it is known. */
  captureDisk(machine: MachineRow): DiskContent;
  /** Copies the disk of the snapshot, or deletes the copy, as its row says. */
  workOnSnapshot(snapshot: SnapshotRow): void;
  /** Seals the disk of the snapshot: see `Disks.sealSnapshot`. */
  sealSnapshot(
    snapshot: SnapshotRow,
    image: string,
    seal: (path: string) => Promise<CapturedDisk>,
    signal: AbortSignal,
  ): Promise<CapturedDisk>;

  /** Finds the sealed disk with this manifest. */
  findSealed(digest: string): Promise<DiskContent | undefined>;
  /** Returns what gives each machine that one call creates an id that was never used. */
  machineIds(kind: 'node' | 'machine'): (name: string) => string;
  /** Throws `input-invalid` for a size that does not exist. */
  checkSize(size: string): void;
  /** Throws if there is no room for more machines of that size. `instead` is a machine that makes room. */
  requireRoom(count: number, size: string, instead?: MachineRow): void;
  /** Returns what changes when the machine gets a disk, its first or a new one. */
  giveDisk(machine: MachineRow, imaging: Imaging): Partial<MachineRow>;
  /** Returns what changes beside its model when a node is brought to a model with the same image. */
  applyModel(machine: MachineRow, resized: boolean): Partial<MachineRow>;
  /** Returns what changes when it is switched; `undefined` if it is there, or on the way there, already. */
  switchPower(machine: MachineRow, to: MachineRow['powerTo'], bend: Bend): Partial<MachineRow> | undefined;
  power(machine: MachineRow): NodePower;
  /** Returns what is known of the machine beside its state and power. */
  observe(machine: MachineRow): Pick<ProviderNode, 'health' | 'trouble' | 'forwards' | 'address'>;
  report(machine: MachineRow): MachineReport | undefined;
  nodeReport(machine: MachineRow): NodeReport | undefined;
  console(machine: MachineRow, lines: number): Promise<readonly string[]>;
  runCommand(
    machine: MachineRow,
    command: MachineCommand,
    signal: AbortSignal,
  ): Promise<MachineCommandResult>;
  /** Returns what changes beside the text when the node gets another config. */
  setUserData(node: MachineRow, userData: string): Partial<MachineRow>;
  /** Lets the node apply the config that it holds back. */
  allowChange(node: MachineRow, change: AllowedChange): Promise<void>;
  /** Does what is due on the machines, as their rows say, and deletes those that are to go. */
  workOnMachines(machineIds: readonly string[]): void;
}

/** How a machine gets a disk. */
export interface Imaging {
  readonly kind: WorkKind;
  /** The disk's content and the hash of the node's model, or why there is none. */
  readonly source: DiskContent | ProvisioningError;
  readonly model: string | null;
  /** How many batches of machines start from the same copies before it. */
  readonly batch: number;
  readonly bend: Bend;
}

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
