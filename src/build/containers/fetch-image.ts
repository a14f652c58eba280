// Takes an image or artifact with all its parts into the input store, each checked against its digest.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { digestOf, hexOf } from '../../oci/layout/digest.ts';
import type { Descriptor, Manifest, ManifestLike } from '../../oci/layout/manifest.ts';
import { contentOf, parseManifestLike } from '../../oci/layout/manifest.ts';
import type { ContentFolder } from '../content/content-folder.ts';
import { gone, type OciSource } from './oci-source.ts';

export interface FetchedImage {
  /** Of the manifest for the platform, in hexadecimal digits. */
  readonly sha256: string;
  readonly manifest: Manifest;
  /** Of all parts, the manifest included. */
  readonly sizeBytes: number;
}

export interface FetchImageOptions {
  readonly source: OciSource;
  readonly store: ContentFolder;
  readonly label: string;
  /** Debian's and Go's name of the processor; what says none fits all. */
  readonly machine: string;
  /** The digest of the manifest, or of the index that lists it. */
  readonly expected?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of all parts so far. */
  readonly onBytes?: ((soFar: number, total: number) => void) | undefined;
}

export async function fetchImage(options: FetchImageOptions): Promise<FetchedImage> {
  const { source, store, label, expected } = options;
  const root = await source.root();
  const digest = digestOf(root);
  const chosen = await platformManifest(options, root, 0);
  const manifestDigest = digestOf(chosen.bytes);
  if (expected !== undefined && expected !== digest && expected !== manifestDigest) {
    throw new ImagoError('input-mismatch', `${label} has the digest ${digest}, and not ${expected}.`);
  }
  await store.addBytes(chosen.bytes);
  const parts = contentOf({ kind: 'manifest', manifest: chosen.manifest });
  const sizeBytes = chosen.bytes.length + parts.reduce((sum, { size }) => sum + size, 0);
  let before = chosen.bytes.length;
  for (const part of parts) {
    await takePart(options, part, (bytes) => options.onBytes?.(before + bytes, sizeBytes));
    before += part.size;
    options.onBytes?.(before, sizeBytes);
  }
  return { sha256: hexOf(manifestDigest), manifest: chosen.manifest, sizeBytes };
}

async function takePart(
  { source, store, label }: FetchImageOptions,
  part: Descriptor,
  onBytes: (soFar: number) => void,
): Promise<void> {
  const sha256 = hexOf(part.digest);
  if ((await store.find(sha256)) !== undefined) return;
  const content = limited(await source.read(part.digest), part.size, label, onBytes);
  await store.add(content, { expected: sha256, label: `A part of ${label}` });
}

async function* limited(
  content: AsyncIterable<Uint8Array>,
  size: number,
  label: string,
  onBytes?: (soFar: number) => void,
) {
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > size)
      throw new ImagoError('input-mismatch', `A part of ${label} has more than its ${size} bytes.`);
    onBytes?.(bytes);
    yield piece;
  }
}

interface Chosen {
  readonly bytes: Buffer;
  readonly manifest: Manifest;
}

async function platformManifest(options: FetchImageOptions, bytes: Buffer, depth: number): Promise<Chosen> {
  const parsed: ManifestLike = parseManifestLike(bytes, options.label);
  if (parsed.kind === 'manifest') return { bytes, manifest: parsed.manifest };
  if (depth > 3) throw gone(options.label, 'its indexes are nested too deeply');
  const fitting = parsed.index.manifests.filter((entry) => fits(entry, options.machine));
  const [entry] = fitting;
  if (entry === undefined) throw gone(options.label, `there is none for linux/${options.machine}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of limited(await options.source.read(entry.digest), entry.size, options.label)) {
    pieces.push(piece);
  }
  const inner = Buffer.concat(pieces);
  if (digestOf(inner) !== entry.digest) {
    throw new ImagoError(
      'input-mismatch',
      `The manifest of ${options.label} does not have the digest ${entry.digest}.`,
    );
  }
  return platformManifest(options, inner, depth + 1);
}

function fits(entry: Descriptor, machine: string): boolean {
  const platform = (entry as { platform?: { os?: unknown; architecture?: unknown } }).platform;
  if (platform === undefined) return true;
  return platform.os === 'linux' && platform.architecture === machine;
}

/** The manifest of an image that is in the store with all its parts; else undefined. */
export async function storedImage(
  store: ContentFolder,
  sha256: string,
  label: string,
): Promise<Manifest | undefined> {
  const found = await store.find(sha256);
  if (found === undefined) return undefined;
  const parsed = parseManifestLike(await store.readBytes(found), label);
  if (parsed.kind !== 'manifest') return undefined;
  for (const part of contentOf(parsed)) {
    if ((await store.find(hexOf(part.digest))) === undefined) return undefined;
  }
  return parsed.manifest;
}
