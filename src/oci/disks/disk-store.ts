// The local store: an OCI image layout that holds disks as chunks in packs, and what is attached to them. What is done
// to a disk is a function of its own beside this file: `putDisk`, `openDisk`, `extractDisk`, `verifyDisk`, `repairDisk`.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameFileError, systemCode, writeFileDurably } from '../../host/files/durable-files.ts';
import { BlobFolder } from '../layout/blob-folder.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import { type Digest, parseDigest } from '../layout/digest.ts';
import { LayoutIndex, tagOf } from '../layout/layout-index.ts';
import { type Annotations, type Descriptor, encodeJson } from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import { downloadAgeMs, StoreOwner, sweepDownloads } from '../layout/owner.ts';
import { type StorePaths, storePaths } from '../layout/paths.ts';
import { listReferrers } from '../layout/referrers.ts';

export interface OpenStoreOptions {
  /** Number of worker threads that one operation can use. Defaults to the number of processors, at most 2. */
  readonly threads?: number;
  /** How long to wait for another process that has the store open. Defaults to 30 seconds. */
  readonly waitMs?: number;
}

export interface DiskStore extends StoreContext {
  readonly root: string;
  /** Lists what is attached, oldest first. */
  referrers(subject: Digest, artifactType?: string): Promise<readonly Descriptor[]>;
  /** Reads and checks a blob of at most `limit` bytes (16 MiB by default). Throws `store-not-found` if it is absent. */
  readBlob(digest: Digest, limit?: number): Promise<Buffer>;
  /** Points a tag at a listed manifest; an existing tag moves. Throws `store-not-found` if it is not listed. */
  tag(tag: string, digest: Digest): Promise<void>;
  /** Returns the manifest under a tag, or `undefined`. */
  resolve(tag: string): Promise<Digest | undefined>;
  /** Lists every manifest of a disk, oldest first, with its tags. */
  list(): Promise<readonly ListedDisk[]>;
  /** Closes the store. Calling it again has no effect. */
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
  /** Size of all its blobs, including those that other versions share. */
  readonly storedBytes: number;
  readonly annotations: Annotations;
}

const layoutVersion = '1.0.0';
const defaultBlobLimit = 16 * 1024 * 1024;

/**
 * Opens the store in `root`, which this process then owns until it closes the store. Creates the store if the directory
 * is absent or empty, and removes what a killed process left there. Throws `store-invalid` if the directory contains
 * something else, `store-busy` if another process has the store open.
 */
export async function openDiskStore(root: string, options: OpenStoreOptions = {}): Promise<DiskStore> {
  const paths = storePaths(resolve(root));
  await refuseForeignFolder(paths);
  await makeFolders(paths);
  const owner = await StoreOwner.open(paths, options.waitMs ?? 30_000);
  try {
    await prepareLayout(paths, owner);
    await sweepDownloads(paths, Date.now() - downloadAgeMs);
    return diskStore({
      paths,
      owner,
      blobs: new BlobFolder(paths, owner),
      index: new LayoutIndex(paths, owner),
      threads: options.threads ?? Math.min(availableParallelism(), 2),
    });
  } catch (error) {
    owner.close();
    throw error;
  }
}

async function makeFolders({ root, blobs, temporary, partial }: StorePaths): Promise<void> {
  try {
    for (const folder of [blobs, temporary, partial]) await mkdir(folder, { recursive: true });
  } catch (error) {
    if (systemCode(error) === undefined || systemCode(error) === 'ENOSPC')
      throw nameFileError(error, 'creating the store');
    throw new ImagoError('store-invalid', `there can be no store at ${root}`, { cause: error });
  }
}

const ownNames = new Set(['blobs', 'index.json', 'oci-layout', '.imago']);

async function refuseForeignFolder(paths: StorePaths): Promise<void> {
  const names = (await readdir(paths.root).catch(absentOrNoFolder)) ?? [];
  const foreign = names.find((name) => !ownNames.has(name));
  if (foreign === undefined || names.includes('oci-layout')) return;
  throw new ImagoError('store-invalid', `${paths.root} contains ${foreign}, and is not a store`);
}

async function prepareLayout({ layoutFile, indexFile }: StorePaths, owner: StoreOwner): Promise<void> {
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
    await writeFileDurably(indexFile, empty, 0o644, owner.temporaryPath());
  }
  const version = encodeJson({ imageLayoutVersion: layoutVersion });
  await writeFileDurably(layoutFile, version, 0o644, owner.temporaryPath());
}

function layoutVersionOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { imageLayoutVersion?: unknown }).imageLayoutVersion;
  } catch {
    return undefined;
  }
}

function diskStore(context: StoreContext): DiskStore {
  const { index, blobs, owner } = context;
  return {
    ...context,
    root: context.paths.root,
    referrers: (subject, artifactType) => listReferrers(context, subject, artifactType),
    readBlob: (digest, limit = defaultBlobLimit) => blobs.read(digest, limit),
    async tag(tag, digest) {
      const entry = await index.find(digest);
      if (entry === undefined) throw new ImagoError('store-not-found', `the store does not list ${digest}`);
      await index.tag(tag, entry);
    },
    resolve: async (tag) => (await index.resolve(tag))?.digest,
    async list() {
      const tags = new Map<Digest, string[]>();
      for (const entry of await index.entries()) {
        if (entry.artifactType !== mediaTypes.disk) continue;
        const tag = tagOf(entry);
        tags.set(entry.digest, [...(tags.get(entry.digest) ?? []), ...(tag === undefined ? [] : [tag])]);
      }
      return [...tags].map(([digest, names]) => ({ digest, tags: names }));
    },
    close: async () => owner.close(),
  };
}

/** Describes a version by its manifest, without reading the rest. Throws `store-not-found` if there is none. */
export async function describeDisk(store: StoreContext, digest: Digest): Promise<DiskDescription> {
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

/** A file in place of the directory is reported when directories are created in it. */
function absentOrNoFolder(error: unknown): undefined {
  return systemCode(error) === 'ENOTDIR' ? undefined : absent(error);
}

function absent(error: unknown): undefined {
  if (systemCode(error) === 'ENOENT') return undefined;
  throw error;
}
