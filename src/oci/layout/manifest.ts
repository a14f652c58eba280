// Manifests, indexes and descriptors of the OCI image specification 1.1: read strictly in what the store
// relies on, leniently in what others may add, and written with one order of keys so that the same
// content always has the same digest.
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type Digest, digestOf, isDigest } from './digest.ts';
import { mediaTypes } from './media-types.ts';

export type Annotations = Readonly<Record<string, string>>;

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly artifactType?: string | undefined;
  readonly annotations?: Annotations | undefined;
}

export interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType?: string | undefined;
  readonly artifactType?: string | undefined;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly subject?: Descriptor | undefined;
  readonly annotations?: Annotations | undefined;
}

export interface Index {
  readonly schemaVersion: 2;
  readonly mediaType?: string | undefined;
  readonly artifactType?: string | undefined;
  readonly manifests: readonly Descriptor[];
  readonly subject?: Descriptor | undefined;
  readonly annotations?: Annotations | undefined;
}

/** Registries refuse manifests over 4 MiB; so does the store. */
export const maxManifestSize = 4 * 1024 * 1024;

const annotations = z.record(z.string(), z.string());

const descriptor = z.looseObject({
  mediaType: z.string(),
  digest: z.custom<Digest>((value) => typeof value === 'string' && isDigest(value), 'not a sha256 digest'),
  size: z.int().nonnegative(),
  artifactType: z.string().optional(),
  annotations: annotations.optional(),
});

const common = {
  schemaVersion: z.literal(2),
  mediaType: z.string().optional(),
  artifactType: z.string().optional(),
  subject: descriptor.optional(),
  annotations: annotations.optional(),
};

const manifestSchema = z.looseObject({ ...common, config: descriptor, layers: z.array(descriptor) });
const indexSchema = z.looseObject({ ...common, manifests: z.array(descriptor) });

export type ManifestLike =
  | { readonly kind: 'manifest'; readonly manifest: Manifest }
  | { readonly kind: 'index'; readonly index: Index };

/** Reads a manifest or an index, whichever the bytes are. Throws `store-corrupt` for anything else. */
export function parseManifestLike(bytes: Uint8Array, name: string): ManifestLike {
  const value = parseJson(bytes, name);
  if (typeof value === 'object' && value !== null && 'manifests' in value) {
    return { kind: 'index', index: check(indexSchema, value, name) };
  }
  return { kind: 'manifest', manifest: check(manifestSchema, value, name) };
}

export function parseManifest(bytes: Uint8Array, name: string): Manifest {
  const parsed = parseManifestLike(bytes, name);
  if (parsed.kind === 'manifest') return parsed.manifest;
  throw new ImagoError('store-corrupt', `${name} is an index where a manifest is expected`);
}

export function parseIndex(bytes: Uint8Array, name: string): Index {
  return check(indexSchema, parseJson(bytes, name), name);
}

/** Every descriptor that a manifest or index needs; its subject is not among them. */
export function contentOf(parsed: ManifestLike): readonly Descriptor[] {
  return parsed.kind === 'index'
    ? parsed.index.manifests
    : [parsed.manifest.config, ...parsed.manifest.layers];
}

export function subjectOf(parsed: ManifestLike): Descriptor | undefined {
  return parsed.kind === 'index' ? parsed.index.subject : parsed.manifest.subject;
}

/** OCI's rule: the artifact type, or else the media type of the config. */
export function artifactTypeOf(parsed: ManifestLike): string | undefined {
  if (parsed.kind === 'index') return parsed.index.artifactType;
  const { artifactType, config } = parsed.manifest;
  return artifactType ?? (config.mediaType === mediaTypes.empty ? undefined : config.mediaType);
}

export function isManifestType(mediaType: string): boolean {
  return (
    mediaType === mediaTypes.manifest ||
    mediaType === mediaTypes.index ||
    mediaType === mediaTypes.dockerManifest ||
    mediaType === mediaTypes.dockerList
  );
}

export function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

export function describe(bytes: Uint8Array, mediaType: string): Descriptor {
  return { mediaType, digest: digestOf(bytes), size: bytes.length };
}

/** Annotations in the order of their keys, or none at all: what goes into a digest must not depend on order. */
export function sortedAnnotations(given: Annotations | undefined): Annotations | undefined {
  if (given === undefined) return undefined;
  const entries = Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    throw new ImagoError('store-corrupt', `${name} is not JSON`, { cause });
  }
}

function check<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new ImagoError('store-corrupt', `${name} is malformed${where}: ${issue?.message ?? 'unknown'}`);
}
