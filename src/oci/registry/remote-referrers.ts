// What is attached to a manifest in a registry. Registries with the referrers API keep the list themselves;
// for the others there is a tag for each subject, which clients have to keep. cosign has tags of its own.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Digest } from '../layout/digest.ts';
import { type Descriptor, describe, encodeJson, parseIndex, parseManifest } from '../layout/manifest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { fallbackTag, referrersIndex } from '../layout/referrers.ts';
import type { RegistryClient } from './client.ts';

/** The suffixes of cosign's tags: signatures, attestations, SBOMs. */
const cosignSuffixes = ['.sig', '.att', '.sbom'] as const;

export interface RemoteReferrer {
  readonly descriptor: Descriptor;
  /** The cosign tag that leads to it, if one does. */
  readonly tag: string | undefined;
}

/** Everything that the registry has for a manifest, found by API, by fallback tag and by cosign's tags. */
export async function findRemoteReferrers(
  client: RegistryClient,
  repository: string,
  digest: Digest,
  signal: AbortSignal | undefined,
): Promise<RemoteReferrer[]> {
  const listed =
    (await client.referrers(repository, digest, signal)) ??
    (await readFallback(client, repository, digest, signal));
  const found = new Map<Digest, RemoteReferrer>();
  for (const descriptor of listed) found.set(descriptor.digest, { descriptor, tag: undefined });
  for (const suffix of cosignSuffixes) {
    const tag = fallbackTag(digest, suffix);
    const manifest = await client.manifest(repository, tag, signal);
    if (manifest === undefined) continue;
    found.set(manifest.digest, { descriptor: describe(manifest.bytes, manifest.mediaType), tag });
  }
  return [...found.values()];
}

const rounds = 5;

/**
 * Adds referrers to the fallback tag of their subject. The tag is read back, because another client may have
 * written it at the same time; a client that finds its entries missing adds them again.
 */
export async function addToFallback(
  client: RegistryClient,
  repository: string,
  subject: Digest,
  referrers: readonly Descriptor[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const there = await readFallback(client, repository, subject, signal);
    const known = new Set(there.map((entry) => entry.digest));
    const missing = referrers.filter((referrer) => !known.has(referrer.digest));
    if (missing.length === 0) return;
    const bytes = encodeJson(referrersIndex([...there, ...missing]));
    await client.putManifest(
      repository,
      fallbackTag(subject),
      { bytes, mediaType: mediaTypes.index },
      signal,
    );
  }
  throw new ImagoError('registry-failed', `others keep changing what is attached to ${subject}`);
}

/**
 * The manifest to put under a cosign tag so that signatures which others made stay: ours, or a new one with
 * the layers of both. `undefined` when what is there has all of ours.
 */
export async function mergeCosign(
  client: RegistryClient,
  repository: string,
  tag: string,
  ours: Buffer,
  signal: AbortSignal | undefined,
): Promise<Buffer | undefined> {
  const theirs = await client.manifest(repository, tag, signal);
  if (theirs === undefined) return ours;
  const own = parseManifest(ours, tag);
  const there = parseManifest(theirs.bytes, tag);
  const added = own.layers.filter((layer) => !there.layers.some((other) => sameSignature(layer, other)));
  if (added.length === 0) return undefined;
  const lost = there.layers.filter((layer) => !own.layers.some((other) => sameSignature(layer, other)));
  if (lost.length === 0) return ours;
  return encodeJson({ ...there, layers: [...there.layers, ...added] });
}

function sameSignature(one: Descriptor, other: Descriptor): boolean {
  return one.digest === other.digest && JSON.stringify(one.annotations) === JSON.stringify(other.annotations);
}

async function readFallback(
  client: RegistryClient,
  repository: string,
  subject: Digest,
  signal: AbortSignal | undefined,
): Promise<readonly Descriptor[]> {
  const manifest = await client.manifest(repository, fallbackTag(subject), signal);
  return manifest === undefined ? [] : parseIndex(manifest.bytes, fallbackTag(subject)).manifests;
}
