// Writes a small container image as a directory in OCI layout.
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type TarItem, writeTar } from '../src/disk/tar/writer.ts';
import { mediaTypes } from '../src/oci/layout/media-types.ts';

export interface SmallImage {
  readonly tag: string;
  /** The files of each layer, the lowest first. */
  readonly layers: readonly (readonly TarItem[])[];
  readonly config: { readonly Cmd?: readonly string[]; readonly Env?: readonly string[] };
}

export async function writeLayout(folder: string, { tag, layers: items, config }: SmallImage): Promise<void> {
  const layers = await Promise.all(items.map((layer) => buffer(writeTar([...layer]))));
  const document = {
    architecture: 'amd64',
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
    history: [],
  };
  const blobs = join(folder, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const put = async (bytes: Buffer, mediaType: string) => {
    await writeFile(join(blobs, sha256(bytes)), bytes);
    return { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length };
  };
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const layerType = 'application/vnd.oci.image.layer.v1.tar+gzip';
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: await put(json(document), 'application/vnd.oci.image.config.v1+json'),
    layers: await Promise.all(layers.map((layer) => put(gzipSync(layer), layerType))),
  };
  const root = await put(json(manifest), mediaTypes.manifest);
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(folder, 'index.json'),
    json({ schemaVersion: 2, manifests: [{ ...root, annotations }] }),
  );
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
