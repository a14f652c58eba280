// Reads the signed attestations in an OCI image layout (a copy of a store, or of a registry by skopeo or oras) without a
// daemon. Data that does not match its digest is refused, not skipped.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';

const descriptor = z.looseObject({
  mediaType: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  artifactType: z.string().optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
type Descriptor = z.infer<typeof descriptor>;
const indexSchema = z.looseObject({ manifests: z.array(descriptor) });
const manifestSchema = z.looseObject({ layers: z.array(descriptor) });

const envelopeType = 'application/vnd.dsse.envelope.v1+json';
const statementType = 'application/vnd.in-toto+json';
const tagKey = 'org.opencontainers.image.ref.name';
const maxBlobBytes = 64 * 1024 * 1024;

export interface LayoutStatement {
  /** The digest of the envelope's blob. */
  readonly digest: string;
  readonly envelope: string;
}

/** Returns every envelope in the layout once. Throws `store-corrupt` for a damaged layout. */
export async function readLayoutStatements(folder: string): Promise<readonly LayoutStatement[]> {
  const { manifests } = parse(indexSchema, await readFile(join(folder, 'index.json')), 'index.json');
  const found = new Map<string, LayoutStatement>();
  for (const entry of manifests.filter(holdsStatements)) {
    const manifest = parse(manifestSchema, await readBlob(folder, entry.digest), `manifest ${entry.digest}`);
    for (const { digest, mediaType } of manifest.layers) {
      if (mediaType !== envelopeType || found.has(digest)) continue;
      found.set(digest, { digest, envelope: (await readBlob(folder, digest)).toString('utf8') });
    }
  }
  return [...found.values()];
}

/** cosign finds them by tag, other tools by the artifact type of the referrer. */
function holdsStatements({ artifactType, annotations }: Descriptor): boolean {
  return artifactType === statementType || annotations?.[tagKey]?.endsWith('.att') === true;
}

async function readBlob(folder: string, digest: string): Promise<Buffer> {
  const hex = digest.slice('sha256:'.length);
  const file = join(folder, 'blobs', 'sha256', hex);
  const bytes = await read(file, digest);
  if (createHash('sha256').update(bytes).digest('hex') === hex) return bytes;
  throw new ImagoError('store-corrupt', `Blob ${digest} of ${folder} does not match its digest.`);
}

async function read(file: string, digest: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > maxBlobBytes) throw new Error(`it is too large: ${size} bytes`);
    return await readFile(file);
  } catch (cause) {
    throw new ImagoError('store-corrupt', `Blob ${digest} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  }
}

function parse<T>(schema: z.ZodType<T>, bytes: Buffer, name: string): T {
  try {
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  } catch (cause) {
    throw new ImagoError('store-corrupt', `${name} of the layout cannot be read.`, { cause });
  }
}
