// The local store as operations and routes see it: the disks of versions by digest, what was made from them
// (notes, SBOM, signatures, locks), and their copies in files and registries. Versions of providers that keep
// their disks elsewhere are not in it: then `find` answers `undefined`.

import type { ExportFormat } from '../../domain/image/disk-file.ts';
import type { RecipeCommit } from '../../domain/image/recipe-commit.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import type { Json } from '../../domain/value/json.ts';
import type { CapturedDisk } from '../provider/disks.ts';

export interface StoredImage {
  readonly digest: string;
  /** sha256 of the raw disk. */
  readonly diskDigest: string;
  readonly sizeBytes: number;
  /** What its blobs take up in the store, also those that other versions share. */
  readonly storedBytes: number;
}

/** How long work is watched and stopped. */
export interface Watch {
  readonly signal: AbortSignal;
  progress(done: number, total: number, sentence: string): void;
  log(line: string): void;
}

export const recordKinds = [
  'notes',
  'notes-markdown',
  'cyclonedx',
  'spdx',
  'inventory',
  'provenance',
] as const;
export type ImageRecordKind = (typeof recordKinds)[number];

/** What is known about a version when its records are made. */
export interface DescribeRequest {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  /** ISO time; the same for every try, so that a second one adds nothing. */
  readonly createdAt: string;
  /** Absent for versions that were captured or imported. */
  readonly lock?: Lock | undefined;
  /** The previous version, if the store has it. */
  readonly previous?: {
    readonly version: string;
    readonly digest: string;
    readonly lockDigest?: string | undefined;
  };
  readonly timings?: readonly { readonly step: string; readonly ms: number }[];
  /** What nodes got by their config before, and is on the image by now. */
  readonly hotfixes?: readonly { readonly name: string; readonly version: string }[];
}

export interface Described {
  /** Holds private inputs, and may not leave for a shared place. */
  readonly restricted: boolean;
}

export interface ImageRecords {
  /**
   * Reads the sealed disk and attaches inventory, both SBOMs and release notes. The same again adds nothing.
   * `inventory-invalid`, `gpt-invalid` or `ext4-invalid` when the disk cannot be read, `store-not-found` when it
   * is not here.
   */
  describe(request: DescribeRequest, watch: Watch): Promise<Described>;
  /** `undefined` when the version was not described, or only under another number, if one is given. */
  described(digest: string, version?: string): Promise<Described | undefined>;
  /**
   * Adds to the release notes what the tests measured, where a budget of the recipe asks for it. The same again adds
   * nothing, and so does a version without notes.
   */
  measured(digest: string, measures: { readonly bootToReadyMs: number }): Promise<void>;
  /** The newest record of a kind as text; `undefined` when the version has none. */
  read(digest: string, kind: ImageRecordKind): Promise<string | undefined>;
  /** The packages on the disk. `store-not-found`, or as `describe` throws. */
  packages(digest: string, signal: AbortSignal): Promise<DiskPackages>;
  /** Files of the disk that are UTF-8 text of at most 64 KiB, by path; others are absent. */
  texts(digest: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** What differs between two versions of the store, also ones that were never described. */
  diff(before: string, after: string, signal: AbortSignal): Promise<ImageDiff>;
  /**
   * One sentence for each difference that was not intended; the empty list is the proof that nothing else moved.
   * Private inputs go by their alias. What was recorded about a version does when its disk is gone;
   * `store-not-found` when neither is there.
   */
  unintended(
    versions: ComparedVersions,
    intended: IntendedChanges,
    signal: AbortSignal,
  ): Promise<readonly string[]>;
}

export interface DiskPackages {
  /** As `/etc/os-release` says: `Debian GNU/Linux 13 (trixie)` and `debian`; empty if it does not. */
  readonly system: string;
  readonly distribution: string;
  readonly packages: readonly {
    readonly name: string;
    readonly version: string;
    readonly architecture: string;
  }[];
}

export interface ComparedVersions {
  /** Digests. */
  readonly before: string;
  readonly after: string;
  /** Of the one after. */
  readonly lock: Lock;
}

/** What a hotfix was meant to change. */
export interface IntendedChanges {
  /** Components and packages that were set. */
  readonly names: readonly string[];
  /** Debian packages that may differ, with all files that they own. */
  readonly packages: readonly string[];
  /** Files, or folders with all below them, that may differ. */
  readonly places: readonly string[];
  /** Where what was not set is: it may not differ there, though it be below one of `places`. */
  readonly others: readonly string[];
}

export interface ImageDiff {
  readonly same: boolean;
  readonly diff: Json;
  /** For people. */
  readonly text: string;
}

export interface SignRequest {
  readonly digest: string;
  readonly image: string;
  readonly version: string;
  /** ISO time that is in the signature. */
  readonly at: string;
  /** Make a key if none was ever made, unless this installation is set to sign nothing. */
  readonly makeKey?: boolean;
  /** Of a built version: how it was made. */
  readonly provenance?: {
    readonly lock: Lock;
    readonly operation: string;
    readonly startedAt: string;
    readonly finishedAt: string;
    /** The commit that the recipe was at, if it is known. */
    readonly source?: RecipeCommit | undefined;
    /** How long the steps of the build took that were not reused. */
    readonly timings?: DescribeRequest['timings'] | undefined;
  };
}

export interface ImageSignature {
  /** Absent when no key that is known here made it. */
  readonly key?: string;
  /** Whose key it is, if not this installation's. */
  readonly owner?: string;
  readonly identity: string;
  readonly signedAt?: string;
  /** Made by a trusted key, in its time. */
  readonly counts: boolean;
  /** Its key has ended since: the signature counts, and a gate wants a fresh one. */
  readonly expired?: true;
  /** Why it does not count. */
  readonly problem?: string;
}

export interface ImageSignatures {
  /**
   * Signs with the current key. `undefined` if no key was ever made; throws `key-invalid` or `key-not-found` if keys
   * were set up and none of them can sign. A second call adds nothing.
   */
  sign(request: SignRequest): Promise<(ImageSignature & { readonly key: string }) | undefined>;
  /** All that are attached, also those that do not count. Empty when there are none. */
  list(digest: string): Promise<readonly ImageSignature[]>;
}

/** Locks of versions, and the inputs of those that left `candidate`: mirrors forget old packages. */
export interface KeptLocks {
  /** Keeps the lock. The same again changes nothing. */
  keep(lockDigest: string, lock: Lock): Promise<void>;
  read(lockDigest: string): Promise<Lock | undefined>;
  /**
   * Keeps every input of a kept lock that the build cache has, shared with other versions. Says what it could not
   * find. A second call only adds what was missing.
   */
  keepInputs(lockDigest: string, signal: AbortSignal): Promise<KeptInputs>;
  /** Lock and inputs may go with the next garbage collection, unless other versions share them. */
  drop(lockDigest: string): Promise<void>;
  /** Digests of all locks that are kept. */
  list(): Promise<readonly string[]>;
}

export interface KeptInputs {
  readonly count: number;
  readonly bytes: number;
  /** Named; empty when all are kept. */
  readonly missing: readonly string[];
}

export interface ExportedDisk {
  /** Of the file. Known before the first byte. */
  readonly sizeBytes: number;
  /** To be read once, to its end or until it is given up. */
  content(): AsyncGenerator<Uint8Array>;
  /** Releases it if `content` was never read. A second call does nothing. */
  close(): Promise<void>;
}

export interface CapturedFile {
  /** A raw disk, which is changed in place. */
  readonly path: string;
  readonly image: string;
  /** The digest of the version that the node was created from. */
  readonly parent: string;
  /** Of a Windows disk that a build made: what the disk must have. */
  readonly lock?: Lock;
}

export interface DiskFiles {
  /**
   * The version's disk as a file, read and checked as it is sent. `store-corrupt` in the middle when a part is
   * damaged.
   */
  exportDisk(digest: string, format: ExportFormat, signal: AbortSignal): Promise<ExportedDisk>;
  /** Takes in bytes under a name of its own; they are gone after a day, or when they are dropped. */
  upload(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Upload>;
  findUpload(id: string): Promise<Upload | undefined>;
  dropUpload(id: string): Promise<void>;
  /**
   * Stores an uploaded disk, whatever its format. The same disk for the same image again is the same version.
   * `input-invalid` if it is not a disk, `upload-not-found` if the upload no longer exists.
   */
  importDisk(upload: string, image: string, watch: Watch): Promise<StoredImage>;
  /**
   * Cleans the copy of a node's disk by the checklist, scans it, and stores it. Throws `capture-unsafe` if the scan finds
   * an identity or a secret that the parent does not have, `disk-uncleanable`, or `disk-clean-failed`; nothing is stored
   * then.
   */
  sealCaptured(file: CapturedFile, watch: Watch): Promise<CapturedDisk>;
}

export interface Upload {
  readonly id: string;
  readonly sizeBytes: number;
  readonly format: string;
}

export interface TransferPlan {
  readonly digest: string;
  readonly bytes: number;
  readonly bytesTotal: number;
}

export interface Transferred {
  readonly digest: string;
  readonly bytes: number;
}

/** What a version says of itself. */
export interface PulledFacts {
  readonly image?: string;
  readonly version?: string;
  readonly os?: 'linux' | 'windows';
  readonly kubernetes?: string;
}

/** Decides about a version by what is attached to it, in the registry and here. Throws to refuse it. */
export type Admit = (facts: PulledFacts, signatures: readonly ImageSignature[]) => Promise<void>;

/** Copies in OCI registries: `HOST/REPOSITORY[:TAG]`. Signing in is by the machine's own files for that. */
export interface ImageCopies {
  /** What a push would send. Sends nothing. */
  planPush(digest: string, to: string, signal: AbortSignal): Promise<TransferPlan>;
  /** Sends what is missing there, with all that is attached. A second call resumes where the first stopped. */
  push(digest: string, to: string, watch: Watch): Promise<Transferred>;
  /** Whether the registry has the version under that name, with everything of it. */
  isPushed(digest: string, to: string, signal: AbortSignal): Promise<boolean>;
  planPull(from: string, signal: AbortSignal): Promise<TransferPlan>;
  /**
   * Fetches what is missing here. A second call resumes where the first stopped. `admit` is called before any of the
   * disk is fetched; if it throws, nothing is stored.
   */
  pull(from: string, watch: Watch, admit: Admit): Promise<Transferred & PulledFacts>;
}

export interface ImageCheck {
  readonly bytesRead: number;
  /** One sentence for each damage that was found. */
  readonly found: readonly string[];
  /** What was repaired, and from where. */
  readonly healed: readonly string[];
  /** What is still damaged. */
  readonly left: readonly string[];
}

export interface CheckRequest {
  readonly digest: string;
  /** Repair what is damaged: from the registry, if one is named, else by building it again. */
  readonly heal: boolean;
  readonly registry?: string | undefined;
  readonly lockDigest?: string | undefined;
}

export interface ImageStore {
  find(digest: string): Promise<StoredImage | undefined>;
  /** Reads every byte again. Damage is in the answer, not thrown. */
  check(request: CheckRequest, watch: Watch): Promise<ImageCheck>;
  readonly records: ImageRecords;
  readonly signatures: ImageSignatures;
  readonly locks: KeptLocks;
  readonly files: DiskFiles;
  readonly copies: ImageCopies;
}
