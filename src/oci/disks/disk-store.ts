// The local store: an OCI image layout that holds disks as chunks in packs, and what is attached to them.
// Several processes may use one folder at the same time.
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { storeError, systemCode, writeFileDurably } from '../../host/files/durable-files.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import { BlobFolder } from '../layout/blob-folder.ts';
import { collectGarbage, type GarbageOptions, type GarbageReport } from '../layout/collect-garbage.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import { type Digest, parseDigest } from '../layout/digest.ts';
import { LayoutIndex, tagOf } from '../layout/layout-index.ts';
import { type Annotations, type Descriptor, encodeJson } from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import { type StorePaths, storePaths } from '../layout/paths.ts';
import { type Attachment, attach, listReferrers } from '../layout/referrers.ts';
import { type StoreHold, startSession, sweepDeadSessions } from '../layout/session.ts';
import type { StoredDisk } from './commit-disk.ts';
import { type ExtractedDisk, type ExtractOptions, extractDisk } from './extract-disk.ts';
import { openDisk, type StoredDiskReader } from './open-disk.ts';
import { type PutOptions, putDisk } from './put-disk.ts';
import { type BlobSource, type HealOptions, type HealReport, healDisk } from './repair-disk.ts';
import { type VerifyOptions, type VerifyReport, verifyDisk } from './verify-disk.ts';

export interface OpenStoreOptions {
  /** Worker threads that one operation may use. As many as there are processors, at most 2, unless given. */
  readonly threads?: number;
  /** Temporary files of dead processes are removed at opening when older than this. A minute unless given. */
  readonly temporaryAgeMs?: number;
  /** Downloads that nobody went on with are removed at opening when older than this. A day unless given. */
  readonly partialAgeMs?: number;
  readonly now?: () => number;
}

export interface DiskStore {
  readonly root: string;
  /** For the parts of this folder that push, pull and sign. */
  readonly context: StoreContext;
  /** See `putDisk`. */
  put(path: string, options?: PutOptions): Promise<StoredDisk>;
  /** Random access, checked on read. `store-not-found` when there is no such version. Close it. */
  open(digest: Digest): Promise<StoredDiskReader>;
  /** See `extractDisk`. */
  extract(digest: Digest, path: string, options?: ExtractOptions): Promise<ExtractedDisk>;
  /** What the manifest says of a version, without reading the rest. `store-not-found` when there is none. */
  inspect(digest: Digest): Promise<DiskDescription>;
  /** Reads everything again. Damage is in the report, not thrown. */
  verify(digest: Digest, options?: VerifyOptions): Promise<VerifyReport>;
  /** See `healDisk`. */
  heal(digest: Digest, options: HealOptions): Promise<HealReport>;
  /** See `collectGarbage`. */
  collectGarbage(options: GarbageOptions): Promise<GarbageReport>;
  /** See `attach`. */
  attach(subject: Digest, attachment: Attachment): Promise<Descriptor>;
  /** What is attached, oldest first; the empty list for nothing. */
  referrers(subject: Digest, artifactType?: string): Promise<readonly Descriptor[]>;
  /** A blob of at most `limit` bytes (16 MiB unless given), checked. `store-not-found` when absent. */
  readBlob(digest: Digest, limit?: number): Promise<Buffer>;
  /** Points a tag at a listed manifest; a tag that stood elsewhere moves. `store-not-found` if not listed. */
  tag(tag: string, digest: Digest): Promise<void>;
  untag(tag: string): Promise<void>;
  /** The manifest under a tag, or `undefined`. */
  resolve(tag: string): Promise<Digest | undefined>;
  /** Every listed manifest of a disk, oldest first, with its tags. */
  list(): Promise<readonly ListedDisk[]>;
  /** Keeps what is put under it from garbage collection until it is released or this process ends. */
  hold(): StoreHold;
  /** This store as a source for healing another. */
  asSource(): BlobSource;
  /** Lets go of the folder. A second call does nothing. */
  close(): Promise<void>;
}

export interface ListedDisk {
  readonly digest: Digest;
  readonly tags: readonly string[];
}

export interface DiskDescription {
  readonly digest: Digest;
  /** Size and sha256 of the raw disk. */
  readonly size: number;
  readonly sha256: Digest;
  /** Bytes of all its blobs together, also of those that other versions share. */
  readonly storedBytes: number;
  readonly annotations: Annotations;
}

const layoutVersion = '1.0.0';
const defaultBlobLimit = 16 * 1024 * 1024;

/**
 * Opens the store in `root`, making it when the folder is absent or empty, and sweeps what dead processes
 * left there. `store-invalid` when something else is in the folder.
 */
export async function openDiskStore(root: string, options: OpenStoreOptions = {}): Promise<DiskStore> {
  const paths = storePaths(resolve(root));
  await refuseForeignFolder(paths);
  await makeFolders(paths);
  const session = startSession(paths);
  try {
    const context: StoreContext = {
      paths,
      session,
      blobs: new BlobFolder(paths, session),
      index: new LayoutIndex(paths, session),
      threads: options.threads ?? Math.min(availableParallelism(), 2),
    };
    await withFileLock(paths.lock, {}, () => prepareLayout(context));
    const limits = {
      temporaryAgeMs: options.temporaryAgeMs ?? 60_000,
      partialAgeMs: options.partialAgeMs ?? 24 * 60 * 60 * 1000,
    };
    await sweepDeadSessions(paths, limits, (options.now ?? Date.now)());
    return diskStore(context);
  } catch (error) {
    session.close();
    throw error;
  }
}

async function makeFolders(paths: StorePaths): Promise<void> {
  const { blobs, locks, sessions, temporary, pins, partial } = paths;
  try {
    for (const folder of [blobs, locks, sessions, temporary, pins, partial])
      await mkdir(folder, { recursive: true });
  } catch (error) {
    if (systemCode(error) === undefined || systemCode(error) === 'ENOSPC')
      throw storeError(error, 'making the store');
    throw new ImagoError('store-invalid', `there can be no store at ${paths.root}`, { cause: error });
  }
}

const ownNames = new Set(['blobs', 'index.json', 'oci-layout', '.imago']);

async function refuseForeignFolder(paths: StorePaths): Promise<void> {
  const names = (await readdir(paths.root).catch(absentOrNoFolder)) ?? [];
  const foreign = names.find((name) => !ownNames.has(name));
  if (foreign === undefined || names.includes('oci-layout')) return;
  throw new ImagoError('store-invalid', `${paths.root} holds ${foreign}, and is not a store`);
}

async function prepareLayout(store: StoreContext): Promise<void> {
  const { layoutFile, indexFile } = store.paths;
  const layout = await readFile(layoutFile, 'utf8').catch(absent);
  if (layout !== undefined) {
    if (layoutVersionOf(layout) === layoutVersion) return;
    throw new ImagoError(
      'store-invalid',
      `${layoutFile} is not an OCI image layout of version ${layoutVersion}`,
    );
  }
  if ((await readFile(indexFile).catch(absent)) === undefined) {
    const empty = encodeJson({ schemaVersion: 2, mediaType: mediaTypes.index, manifests: [] });
    await writeFileDurably(indexFile, store.session.temporaryPath(), empty);
  }
  const bytes = encodeJson({ imageLayoutVersion: layoutVersion });
  await writeFileDurably(layoutFile, store.session.temporaryPath(), bytes);
}

function layoutVersionOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { imageLayoutVersion?: unknown }).imageLayoutVersion;
  } catch {
    return undefined;
  }
}

function diskStore(context: StoreContext): DiskStore {
  const { index, blobs, session } = context;
  return {
    root: context.paths.root,
    context,
    put: (path, options = {}) => putDisk(context, path, options),
    open: (digest) => openDisk(context, digest),
    extract: (digest, path, options = {}) => extractDisk(context, digest, path, options),
    inspect: (digest) => inspectDisk(context, digest),
    verify: (digest, options = {}) => verifyDisk(context, digest, options),
    heal: (digest, options) => healDisk(context, digest, options),
    collectGarbage: (options) => collectGarbage(context, options),
    attach: (subject, attachment) => attach(context, subject, attachment),
    referrers: (subject, artifactType) => listReferrers(context, subject, artifactType),
    readBlob: (digest, limit = defaultBlobLimit) => blobs.read(digest, limit),
    async tag(tag, digest) {
      const entry = await index.find(digest);
      if (entry === undefined) throw new ImagoError('store-not-found', `the store does not list ${digest}`);
      await index.tag(tag, entry);
    },
    untag: (tag) => index.untag(tag),
    resolve: async (tag) => (await index.resolve(tag))?.digest,
    list: () => listDisks(index),
    hold: () => session.hold(),
    asSource: () => storeSource(context),
    close: async () => session.close(),
  };
}

async function inspectDisk(store: StoreContext, digest: Digest): Promise<DiskDescription> {
  const manifest = await readDiskManifest(store, digest);
  const annotations = manifest.annotations ?? {};
  const parts = [manifest.config, ...manifest.layers];
  return {
    digest,
    size: Number(annotations[annotationKeys.diskSize]),
    sha256: parseDigest(annotations[annotationKeys.diskSha256] ?? ''),
    storedBytes: parts.reduce((sum, part) => sum + part.size, (await store.blobs.size(digest)) ?? 0),
    annotations,
  };
}

async function listDisks(index: LayoutIndex): Promise<ListedDisk[]> {
  const tags = new Map<Digest, string[]>();
  for (const entry of await index.entries()) {
    if (entry.artifactType !== mediaTypes.disk) continue;
    const tag = tagOf(entry);
    tags.set(entry.digest, [...(tags.get(entry.digest) ?? []), ...(tag === undefined ? [] : [tag])]);
  }
  return [...tags].map(([digest, names]) => ({ digest, tags: names }));
}

function storeSource(store: StoreContext): BlobSource {
  return {
    name: store.paths.root,
    async read(digest) {
      if ((await store.blobs.size(digest)) === undefined) return undefined;
      return createReadStream(store.blobs.path(digest));
    },
  };
}

/** What is no folder fails when folders are made in it. */
function absentOrNoFolder(error: unknown): undefined {
  return systemCode(error) === 'ENOTDIR' ? undefined : absent(error);
}

function absent(error: unknown): undefined {
  if (systemCode(error) === 'ENOENT') return undefined;
  throw error;
}
