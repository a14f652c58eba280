// Removes blobs that nothing needs. Needed are the versions that the caller names, everything that has a tag, is young,
// or is held, and all that these consist of or that is attached to them. No other change runs at the same time: a put
// that looks for a pack either pins it in time or does not find it.
import { rm } from 'node:fs/promises';
import { type BlobListing, corrupt } from './blob-folder.ts';
import { readManifestLike, type StoreContext } from './context.ts';
import type { Digest } from './digest.ts';
import { tagOf } from './layout-index.ts';
import { contentOf, type Descriptor, isManifestType } from './manifest.ts';
import { downloadAgeMs, sweepDownloads } from './owner.ts';
import { subjectOfTag, subjectsOf } from './referrers.ts';

export interface GarbageOptions {
  /** Manifests that must stay, tagged or not. */
  readonly roots: Iterable<Digest>;
  /** What is younger than this stays, because the caller that made it may not have recorded it yet. Defaults to 10 minutes. */
  readonly graceMs?: number | undefined;
  /** Reports what would be removed, and writes nothing. */
  readonly dryRun?: boolean | undefined;
  /** For a dry run: versions whose tags do not count, because they go with them. */
  readonly asIfUntagged?: ReadonlySet<string> | undefined;
  readonly now?: (() => number) | undefined;
}

export interface GarbageReport {
  /** Manifests that are no longer listed. */
  readonly manifests: readonly Digest[];
  readonly blobs: readonly BlobListing[];
  /** Bytes of `blobs`: exactly what is, or would be, freed. */
  readonly bytes: number;
  /** Bytes that nothing needs, but that stay for now because they are young or held. */
  readonly keptBytes: number;
  readonly dryRun: boolean;
}

const defaultGraceMs = 10 * 60 * 1000;

/**
 * Collects garbage. `store-corrupt` when a manifest that must stay is missing or cannot be read: then it is not
 * known what it needs, and nothing is removed. A root that the store never had is skipped.
 */
export async function collectGarbage(store: StoreContext, options: GarbageOptions): Promise<GarbageReport> {
  const now = options.now ?? Date.now;
  return store.owner.exclusive(async () => {
    const dryRun = options.dryRun ?? false;
    const blobs = await store.blobs.list();
    const present = new Map(blobs.map((blob) => [blob.digest, blob]));
    const youngSince = now() - (options.graceMs ?? defaultGraceMs);
    const entries = await store.index.entries();
    const asIfUntagged = (dryRun ? options.asIfUntagged : undefined) ?? new Set();
    const counted = entries.filter((entry) => !asIfUntagged.has(entry.digest));
    const versions = versionsToKeep(counted, options.roots, present);
    const reach = new Reach(store, present, entries, versions);
    await reach.keep(versions);
    const needed = new Set(reach.kept);

    const young = blobs.filter((blob) => blob.mtimeMs > youngSince).map((blob) => blob.digest);
    await reach.keep([...store.owner.pinned(), ...young]);

    const gone = blobs.filter((blob) => !reach.kept.has(blob.digest));
    const goneManifests = entries.map((entry) => entry.digest).filter((digest) => !reach.kept.has(digest));
    if (!dryRun) {
      await remove(store, gone, new Set(goneManifests));
      await sweepDownloads(store.paths, now() - downloadAgeMs);
    }
    return {
      manifests: [...new Set(goneManifests)],
      blobs: gone,
      bytes: sum(gone),
      keptBytes: sum(blobs.filter((blob) => reach.kept.has(blob.digest) && !needed.has(blob.digest))),
      dryRun,
    };
  });
}

/** A listed version whose manifest is lost stops the collection: its packs may still be what heals it. */
function versionsToKeep(
  entries: readonly Descriptor[],
  roots: Iterable<Digest>,
  present: ReadonlyMap<Digest, BlobListing>,
): Digest[] {
  const listed = new Set(entries.map((entry) => entry.digest));
  const tagged = entries.filter((entry) => {
    const tag = tagOf(entry);
    return tag !== undefined && subjectOfTag(tag) === undefined;
  });
  const versions = new Set([...roots, ...tagged.map((entry) => entry.digest)]);
  for (const digest of versions) {
    if (present.has(digest)) continue;
    if (listed.has(digest)) throw corrupt(digest, 'the manifest of a version that must stay is missing');
    versions.delete(digest);
  }
  return [...versions];
}

/** First the list, then the blobs: a process that stops in between leaves only what the next run finds again. */
async function remove(
  store: StoreContext,
  gone: readonly BlobListing[],
  manifests: ReadonlySet<Digest>,
): Promise<void> {
  await store.index.changeNow((entries) =>
    manifests.size === 0 ? entries : entries.filter((entry) => !manifests.has(entry.digest)),
  );
  for (const blob of gone) await rm(store.blobs.path(blob.digest), { force: true });
}

class Reach {
  readonly kept = new Set<Digest>();
  readonly #store: StoreContext;
  readonly #present: ReadonlyMap<Digest, BlobListing>;
  readonly #entries: readonly Descriptor[];
  readonly #manifests = new Set<Digest>();
  #attached: Map<Digest, Digest[]> | undefined;

  constructor(
    store: StoreContext,
    present: ReadonlyMap<Digest, BlobListing>,
    entries: readonly Descriptor[],
    versions: readonly Digest[],
  ) {
    this.#store = store;
    this.#present = present;
    this.#entries = entries;
    for (const digest of [...versions, ...entries.map((entry) => entry.digest)]) this.#manifests.add(digest);
  }

  async keep(digests: readonly Digest[]): Promise<void> {
    const queue = [...digests];
    for (let digest = queue.pop(); digest !== undefined; digest = queue.pop()) {
      if (this.kept.has(digest)) continue;
      this.kept.add(digest);
      queue.push(...(await this.#needsOf(digest)));
    }
  }

  async #needsOf(digest: Digest): Promise<Digest[]> {
    const attached = (await this.#attachments()).get(digest) ?? [];
    if (!this.#manifests.has(digest) || !this.#present.has(digest)) return attached;
    const parsed = await readManifestLike(this.#store, digest);
    for (const part of contentOf(parsed))
      if (isManifestType(part.mediaType)) this.#manifests.add(part.digest);
    return [...attached, ...contentOf(parsed).map((part) => part.digest)];
  }

  /** Manifests by what they are attached to: by their subject, and by fallback tags. */
  async #attachments(): Promise<Map<Digest, Digest[]>> {
    if (this.#attached !== undefined) return this.#attached;
    const attached = new Map<Digest, Digest[]>();
    for (const entry of this.#entries) {
      for (const subject of await subjectsOf(this.#store, entry)) {
        attached.set(subject, [...(attached.get(subject) ?? []), entry.digest]);
      }
    }
    this.#attached = attached;
    return attached;
  }
}

function sum(blobs: readonly BlobListing[]): number {
  return blobs.reduce((total, blob) => total + blob.size, 0);
}
