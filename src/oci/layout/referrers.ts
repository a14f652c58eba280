// What is attached to a version: SBOM, notes, provenance, evidence, signatures. Each is a manifest of its own
// whose `subject` is the version. The list of a version's attachments is also kept under the tag
// `sha256-<hex>`, as OCI's fallback for tools and registries that do not look for subjects.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readManifestLike, type StoreContext } from './context.ts';
import { type Digest, hexOf, isDigest } from './digest.ts';
import { tagOf } from './layout-index.ts';
import {
  type Annotations,
  artifactTypeOf,
  type Descriptor,
  describe,
  encodeJson,
  type Index,
  type Manifest,
  type ManifestLike,
  maxManifestSize,
  sortedAnnotations,
  subjectOf,
} from './manifest.ts';
import { annotationKeys, mediaTypes } from './media-types.ts';

export interface AttachedPart {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** The name of the file that `oras pull` makes of it. */
  readonly title?: string;
  readonly annotations?: Annotations;
}

export interface Attachment {
  readonly artifactType: string;
  readonly parts: readonly AttachedPart[];
  readonly annotations?: Annotations;
  /** A config other than the empty one: cosign's signatures have an image config. */
  readonly config?: { readonly mediaType: string; readonly bytes: Uint8Array };
  /** Listed under this tag, in place of what stood there: cosign looks for `sha256-<hex>.sig`. */
  readonly tag?: string;
}

const emptyConfig = Buffer.from('{}');

/** The tag under which a version's attachments, or those of one kind, are found without a referrers API. */
export function fallbackTag(digest: Digest, suffix = ''): string {
  return `sha256-${hexOf(digest)}${suffix}`;
}

/** The version that a fallback tag belongs to; `undefined` for any other tag. */
export function subjectOfTag(tag: string): Digest | undefined {
  const hex = /^sha256-([0-9a-f]{64})(?:\.[a-z]+)?$/.exec(tag)?.[1];
  return hex === undefined ? undefined : `sha256:${hex}`;
}

/**
 * Attaches content to a manifest of the store. The same content again is the same attachment and changes
 * nothing. `store-not-found` when the store does not have the subject.
 */
export async function attach(
  store: StoreContext,
  subject: Digest,
  attachment: Attachment,
): Promise<Descriptor> {
  return store.owner.holding(async (hold) => {
    const size = (await store.blobs.read(subject, maxManifestSize)).length;
    const mediaType = (await store.index.find(subject))?.mediaType ?? mediaTypes.manifest;
    const config = attachment.config ?? { mediaType: mediaTypes.empty, bytes: emptyConfig };
    await store.blobs.put(config.bytes, hold);
    const layers: Descriptor[] = [];
    for (const part of attachment.parts) {
      await store.blobs.put(part.bytes, hold);
      const title = part.title === undefined ? {} : { [annotationKeys.title]: part.title };
      layers.push({
        ...describe(part.bytes, part.mediaType),
        annotations: sortedAnnotations({ ...part.annotations, ...title }),
      });
    }
    const manifest: Manifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      artifactType: attachment.artifactType,
      config: describe(config.bytes, config.mediaType),
      layers,
      subject: { mediaType, digest: subject, size },
      annotations: sortedAnnotations(attachment.annotations),
    };
    const bytes = encodeJson(manifest);
    await store.blobs.put(bytes, hold);
    const parsed = { kind: 'manifest', manifest } as const;
    const entry = layoutEntry(describe(bytes, mediaTypes.manifest), parsed, false);
    if (attachment.tag === undefined) await store.index.add(entry);
    else await store.index.tag(attachment.tag, entry, true);
    await refreshFallback(store, subject);
    return describeReferrer(entry, parsed);
  });
}

/** What is attached to a manifest, oldest first; only one kind if it is given. Nothing is the empty list. */
export async function listReferrers(
  store: StoreContext,
  subject: Digest,
  artifactType?: string,
): Promise<Descriptor[]> {
  const found: Descriptor[] = [];
  for (const entry of await attachedEntries(store, subject)) {
    const parsed = await readManifestLike(store, entry.digest).catch(ignoreDamage);
    if (parsed === undefined || subjectOf(parsed)?.digest !== subject) continue;
    const descriptor = describeReferrer(entry, parsed);
    if (artifactType === undefined || descriptor.artifactType === artifactType) found.push(descriptor);
  }
  return found;
}

/** The entries of everything that belongs to a manifest, also if damaged: attachments and fallback lists. */
export async function attachedEntries(store: StoreContext, subject: Digest): Promise<Descriptor[]> {
  const found = new Map<Digest, Descriptor>();
  for (const entry of await store.index.entries()) {
    if (found.has(entry.digest)) continue;
    if ((await subjectsOf(store, entry)).includes(subject)) found.set(entry.digest, entry);
  }
  return [...found.values()];
}

/** Returns what an entry of index.json belongs to. The manifest is only read if another tool made the entry. */
export async function subjectsOf(store: StoreContext, entry: Descriptor): Promise<Digest[]> {
  const said = [entry.annotations?.[annotationKeys.subject] ?? '', subjectOfTag(tagOf(entry) ?? '') ?? ''];
  const known = said.filter(isDigest);
  if (known.length > 0 || entry.artifactType === mediaTypes.disk) return known;
  const parsed = await readManifestLike(store, entry.digest).catch(ignoreDamage);
  const subject = parsed === undefined ? undefined : subjectOf(parsed)?.digest;
  return subject === undefined ? [] : [subject];
}

/**
 * The entry of index.json for a manifest: with what saves reading it again. Only for a disk that the store
 * answers for (see `isLocallyVerified`) is the sha256 of the disk among that, whatever the manifest says.
 */
export function layoutEntry(descriptor: Descriptor, parsed: ManifestLike, vouched: boolean): Descriptor {
  const { mediaType, digest, size } = descriptor;
  const own = parsed.kind === 'manifest' ? parsed.manifest.annotations : parsed.index.annotations;
  const subject = subjectOf(parsed)?.digest;
  const diskSha256 = vouched ? own?.[annotationKeys.diskSha256] : undefined;
  return {
    mediaType,
    digest,
    size,
    artifactType: artifactTypeOf(parsed),
    annotations: sortedAnnotations({
      ...(subject === undefined ? {} : { [annotationKeys.subject]: subject }),
      ...(diskSha256 === undefined ? {} : { [annotationKeys.diskSha256]: diskSha256 }),
    }),
  };
}

/** A referrer's descriptor as the referrers API gives it: with its kind and annotations. */
export function describeReferrer(entry: Descriptor, parsed: ManifestLike): Descriptor {
  const { mediaType, digest, size } = entry;
  const annotations = parsed.kind === 'manifest' ? parsed.manifest.annotations : parsed.index.annotations;
  return { mediaType, digest, size, artifactType: artifactTypeOf(parsed), annotations };
}

export function referrersIndex(referrers: readonly Descriptor[]): Index {
  return { schemaVersion: 2, mediaType: mediaTypes.index, manifests: referrers };
}

/** Another caller can attach at the same time: the list is right once it has not changed since it was read. */
export async function refreshFallback(store: StoreContext, subject: Digest): Promise<void> {
  await store.owner.holding(async (hold) => {
    for (let before = ''; ; ) {
      const bytes = encodeJson(referrersIndex(await listReferrers(store, subject)));
      const descriptor = describe(bytes, mediaTypes.index);
      if (descriptor.digest === before) return;
      before = descriptor.digest;
      await store.blobs.put(bytes, hold);
      await store.index.tag(fallbackTag(subject), descriptor, true);
    }
  });
}

function ignoreDamage(error: unknown): undefined {
  if (error instanceof ImagoError && error.kind !== 'bug') return undefined;
  throw error;
}
