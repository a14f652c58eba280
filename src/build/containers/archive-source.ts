// A container image in one tar archive, as `docker save`, `skopeo` and `ctr export` write it: an OCI layout, or
// Docker's older form. Its parts are taken into the input store on the way.

import * as z from 'zod';
import { streamInput } from '../../disk/tar/input.ts';
import type { TarRecord } from '../../disk/tar/reader.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Digest } from '../../oci/layout/digest.ts';
import { encodeJson, parseIndex } from '../../oci/layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../../oci/layout/media-types.ts';
import type { ContentFolder, StoredInput } from '../content/content-folder.ts';
import { gone, type OciSource } from './oci-source.ts';

const limits = { maxEntries: 10_000, maxBytes: 64 * 1024 ** 3 };
const maxJson = 4 * 1024 * 1024;

interface Parts {
  /** Files by their path in the archive. */
  readonly files: ReadonlyMap<string, StoredInput>;
  readonly links: ReadonlyMap<string, string>;
  readonly texts: ReadonlyMap<string, Buffer>;
}

export async function archiveSource(
  content: AsyncIterable<Uint8Array>,
  label: string,
  name: string,
  store: ContentFolder,
): Promise<OciSource> {
  const parts = await takeIn(content, store);
  const root = await (parts.texts.has('index.json')
    ? layoutRoot(parts, label, name, store)
    : dockerRoot(parts, label, store));
  return {
    root: async () => root,
    read: (digest) => readStored(store, digest, label),
    async close() {},
  };
}

async function takeIn(content: AsyncIterable<Uint8Array>, store: ContentFolder): Promise<Parts> {
  const files = new Map<string, StoredInput>();
  const links = new Map<string, string>();
  const texts = new Map<string, Buffer>();
  for await (const record of readTar(streamInput(content), { ...limits, symlinks: 'inside' })) {
    const { path, type, link, size } = record.entry;
    if (type === 'hardlink') links.set(path, link);
    else if (type === 'symlink') links.set(path, resolveLink(path, link));
    else if (type === 'file' && /^(?:index\.json|manifest\.json|oci-layout)$/.test(path)) {
      texts.set(path, await readText(record, size));
    } else if (type === 'file') files.set(path, await store.add(record.content()));
  }
  return { files, links, texts };
}

function resolveLink(path: string, target: string): string {
  const parts = path.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

async function readText(record: TarRecord, size: number): Promise<Buffer> {
  if (size > maxJson)
    throw new ImagoError('tar-limit', `${record.entry.path} has ${size} bytes, too many for JSON`);
  const pieces: Buffer[] = [];
  for await (const piece of record.content()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

async function layoutRoot(parts: Parts, label: string, name: string, store: ContentFolder): Promise<Buffer> {
  const { manifests } = parseIndex(parts.texts.get('index.json') ?? Buffer.alloc(0), `${label}: index.json`);
  const tag = name.slice(name.lastIndexOf(':') + 1);
  const named = manifests.find(({ annotations = {} }) =>
    [annotations['io.containerd.image.name'], annotations[annotationKeys.tag]].some(
      (text) => text === name || text === tag,
    ),
  );
  const chosen = named ?? (manifests.length === 1 ? manifests[0] : undefined);
  if (chosen === undefined) throw gone(label, `its archive holds several images, and none is called ${name}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of await readStored(store, chosen.digest, label)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const dockerManifest = z
  .array(
    z.looseObject({
      Config: z.string(),
      Layers: z.array(z.string()),
      RepoTags: z.array(z.string()).nullish(),
    }),
  )
  .min(1);

/** Docker's form has no manifest that a registry would know, so one is made, always the same. */
async function dockerRoot(parts: Parts, label: string, store: ContentFolder): Promise<Buffer> {
  const text = parts.texts.get('manifest.json');
  if (text === undefined) throw gone(label, 'its archive holds neither an OCI layout nor what docker saves');
  const parsed = dockerManifest.safeParse(JSON.parse(text.toString('utf8')));
  const [image, ...others] = parsed.success ? parsed.data : [];
  if (image === undefined || others.length > 0)
    throw gone(label, 'its archive does not hold exactly one image');
  const describe = (path: string, mediaType: string) => {
    const found = parts.files.get(path) ?? parts.files.get(parts.links.get(path) ?? '');
    if (found === undefined) throw gone(label, `its archive lacks ${path}`);
    return { mediaType, digest: `sha256:${found.sha256}`, size: found.sizeBytes };
  };
  const manifest = encodeJson({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: describe(image.Config, mediaTypes.imageConfig),
    layers: image.Layers.map((path) => describe(path, 'application/vnd.oci.image.layer.v1.tar')),
  });
  await store.addBytes(manifest);
  return manifest;
}

async function readStored(
  store: ContentFolder,
  digest: Digest,
  label: string,
): Promise<AsyncIterable<Uint8Array>> {
  const found = await store.find(digest.slice('sha256:'.length));
  if (found === undefined) throw gone(label, `its archive lacks ${digest}`);
  return store.read(found);
}
