// A small container image in a folder in OCI layout: busybox and a file in two layers, so that snapshots stand on
// each other, one file of the first taken away by the second.
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type TarItem, tarEntry, tarFile, writeTar } from '../../src/disk/tar/writer.ts';
import { readToolFile } from '../../src/host/tools/tools.ts';
import { mediaTypes } from '../../src/oci/layout/media-types.ts';

export interface ContainerImageOptions {
  readonly tag: string;
  /** What its program prints. */
  readonly greeting: string;
  /** What it does instead of that. */
  readonly command?: readonly string[];
}

export async function writeContainerImage(
  folder: string,
  { tag, greeting, command }: ContainerImageOptions,
): Promise<void> {
  const below: TarItem[] = [
    { entry: tarEntry('bin', { type: 'directory' }) },
    tarFile('bin/busybox', await readToolFile('busybox'), { mode: 0o755 }),
    { entry: tarEntry('bin/sh', { type: 'symlink', link: 'busybox' }) },
    { entry: tarEntry('tmp', { type: 'directory', mode: 0o1777 }) },
    tarFile('etc/gone', 'below'),
  ];
  const above: TarItem[] = [
    tarFile('etc/greeting', `${greeting}\n`, { uid: 1000, gid: 1000 }),
    tarFile('etc/.wh.gone', ''),
  ];
  const layers = await Promise.all([below, above].map((items) => buffer(writeTar(items))));
  const config = {
    architecture: 'amd64',
    os: 'linux',
    config: {
      Cmd: command ?? ['/bin/sh', '-c', '/bin/busybox cat /etc/greeting'],
      Env: ['PATH=/bin'],
    },
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
    config: await put(json(config), 'application/vnd.oci.image.config.v1+json'),
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
