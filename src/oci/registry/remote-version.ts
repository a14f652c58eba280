// A version that is still in a registry, read as if it were in the store: what is attached to it decides whether the disk
// is fetched at all. Blobs are read into memory, within a budget, and checked.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { type Digest, digestOf } from '../layout/digest.ts';
import {
  type Annotations,
  type Descriptor,
  type Manifest,
  type ManifestLike,
  subjectOf,
} from '../layout/manifest.ts';
import { describeReferrer } from '../layout/referrers.ts';
import type { AttachmentReader } from '../signatures/sign.ts';
import type { BlobPlace } from './download-blob.ts';

export interface PulledManifest {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly parsed: ManifestLike;
  readonly subject: Digest | undefined;
  readonly tag: string | undefined;
}

export interface RemoteVersion extends AttachmentReader {
  readonly digest: Digest;
  readonly annotations: Annotations;
}

const maxBytes = 64 * 1024 ** 2;

export function remoteVersion(
  { client, repository }: BlobPlace,
  digest: Digest,
  { annotations = {} }: Manifest,
  manifests: readonly PulledManifest[],
  signal: AbortSignal | undefined,
): RemoteVersion {
  let read = 0;

  async function fetchBlob(blob: Digest): Promise<Buffer> {
    const response = await client.openBlob(repository, blob, 0, signal);
    if (response === undefined) {
      throw new ImagoError('registry-not-found', `${client.registry}/${repository} has no blob ${blob}`);
    }
    const parts: Buffer[] = [];
    try {
      for await (const part of response.body) {
        read += part.length;
        if (read > maxBytes) {
          throw new ImagoError(
            'registry-corrupt',
            `More than ${formatBytes(maxBytes)} of records and signatures are attached to ${digest}.`,
          );
        }
        parts.push(part);
      }
    } finally {
      response.body.destroy();
    }
    const bytes = Buffer.concat(parts);
    if (digestOf(bytes) === blob) return bytes;
    throw new ImagoError('registry-corrupt', `${client.registry} sent other bytes than those of ${blob}`);
  }

  return {
    digest,
    annotations,
    resolve: async (tag) => manifests.find((manifest) => manifest.tag === tag)?.descriptor.digest,
    referrers: async (subject, artifactType) =>
      manifests
        .filter(({ parsed }) => subjectOf(parsed)?.digest === subject)
        .map(({ descriptor, parsed }) => describeReferrer(descriptor, parsed))
        .filter((found) => artifactType === undefined || found.artifactType === artifactType),
    readBlob: async (blob) =>
      manifests.find(({ descriptor }) => descriptor.digest === blob)?.bytes ?? fetchBlob(blob),
  };
}
