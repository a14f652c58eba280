// What the bytes of a disk are, wherever they are: a digest for the model, a size, and the blob if a client sent them.
import { createHash } from 'node:crypto';
import type { VersionSource } from '../../ports/provider/gallery.ts';
import type { Document } from '../arm/documents.ts';
import type { Face } from '../arm/face.ts';
import { isObject, type Json, listAt, part, textAt } from '../arm/json.ts';
import { readAddress } from '../arm/resource-id.ts';
import { findPublic } from './public-names.ts';

export interface Content {
  readonly digest: string;
  readonly bytes: number;
  readonly blob?: string;
  /** The name of the snapshot in the model, which knows more of its bytes. */
  readonly snapshot?: string;
  /** What the bytes are: `osType`, `hyperVGeneration`, `architecture`, as far as it is known. */
  readonly about: Json;
}

/** The size of a disk whose bytes the emulator does not have. */
export const assumedBytes = 30 * 2 ** 30;

export function digestOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const one of parts) hash.update(one);
  return `sha256:${hash.digest('hex')}`;
}

export function gigabytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 30);
}

/** Content as a document keeps it. */
export function ownContent({ about: _, ...content }: Content): Json {
  return content;
}

/** Returns the content that an id or the address of a blob names. Of something unknown only the name is known. */
export function contentOf(face: Face, id: string): Content {
  const found = findDocument(face, id);
  const opaque = { digest: digestOf(id.toLowerCase()), bytes: assumedBytes, about: aboutMarketplace(id) };
  if (found !== undefined) return documentContent(face, found) ?? opaque;
  const path = URL.canParse(id) ? decodeURIComponent(new URL(id).pathname) : '';
  const blob = face.blobs.get(path);
  if (blob === undefined) return opaque;
  const state = blob.pages.state();
  return { ...opaque, digest: digestOf(path, String(state.change)), bytes: state.size, blob: path };
}

/** The names of images of the Marketplace tell what they are. */
export function aboutMarketplace(name: string): Json {
  if (!/\/skus\//i.test(name)) return {};
  return {
    osType: /windows/i.test(name) ? 'Windows' : 'Linux',
    hyperVGeneration: /gen2|-g2/i.test(name) ? 'V2' : 'V1',
    architecture: 'x64',
  };
}

/** Returns the document of an id in any subscription; community and shared ids too. */
export function findDocument(face: Face, id: string): Document | undefined {
  const known = findPublic(face, id);
  if (known !== undefined) return known.document;
  const address = readAddress(id);
  const owner = face.faces().find((one) => one.subscription === address?.subscription.toLowerCase());
  return owner?.documents.get(id);
}

function documentContent(face: Face, document: Document): Content | undefined {
  const { own = {}, type, id } = document;
  const properties = part(document.body, 'properties');
  if (type === 'images') {
    const osDisk = part(properties, 'storageProfile', 'osDisk');
    const source =
      textAt(osDisk, 'managedDisk', 'id') ?? textAt(osDisk, 'snapshot', 'id') ?? textAt(osDisk, 'blobUri');
    const about = { osType: osDisk.osType, hyperVGeneration: properties.hyperVGeneration ?? 'V1' };
    return source === undefined ? undefined : { ...contentOf(face, source), about };
  }
  if (type === 'virtualMachines') {
    const osDisk = part(properties, 'storageProfile', 'osDisk');
    const disk = textAt(osDisk, 'managedDisk', 'id');
    return disk === undefined ? undefined : { ...contentOf(face, disk), about: { osType: osDisk.osType } };
  }
  const about = type.startsWith('galleries/') ? definitionAbout(face, id) : aboutDisk(properties);
  if (typeof own.digest !== 'string') return undefined;
  return {
    ...{ digest: own.digest, bytes: Number(own.bytes), about },
    ...(typeof own.blob === 'string' ? { blob: own.blob } : {}),
    ...(typeof own.snapshot === 'string' ? { snapshot: own.snapshot } : {}),
  };
}

function definitionAbout(face: Face, versionId: string): Json {
  const definition = findDocument(face, versionId.replace(/\/versions\/[^/]+$/i, ''));
  return pick(part(definition?.body, 'properties'), ['osType', 'hyperVGeneration', 'architecture']);
}

function aboutDisk(properties: Json): Json {
  const { architecture } = part(properties, 'supportedCapabilities');
  const known = pick(properties, ['osType', 'hyperVGeneration']);
  return architecture === undefined ? known : { ...known, architecture };
}

function pick(from: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}

/** Returns the content as a source of the model, which gets to know it. */
export function modelSourceOf(face: Face, { snapshot, digest, bytes }: Content): VersionSource {
  if (snapshot !== undefined) return { kind: 'snapshot', name: snapshot };
  face.cloud.world.addDiskByOther(digest, bytes);
  return { kind: 'disk', digest };
}

/** Returns the data disks that a version made from that machine, image or version has. */
export function dataDisksOf(face: Face, id: string): readonly Json[] {
  const found = findDocument(face, id);
  const storage = part(found?.body, 'properties', 'storageProfile');
  if (found?.type === 'galleries/images/versions') return listAt(found.own, 'dataDisks').filter(isObject);
  return listAt(storage, 'dataDisks')
    .filter(isObject)
    .map((disk) => {
      const source = textAt(disk, 'managedDisk', 'id') ?? '';
      const hostCaching = disk.hostCaching ?? disk.caching ?? 'None';
      const sizeInGB = disk.sizeInGB ?? disk.diskSizeGB ?? gigabytes(contentOf(face, source).bytes);
      return { lun: disk.lun, sizeInGB, hostCaching };
    });
}
