// Where a container image or an OCI artifact is read from: a registry, or a folder in OCI layout.
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { type Digest, hexOf, isDigest } from '../../oci/layout/digest.ts';
import { maxManifestSize, parseIndex } from '../../oci/layout/manifest.ts';
import { annotationKeys } from '../../oci/layout/media-types.ts';
import type { Credentials } from '../../oci/registry/auth.ts';
import { RegistryClient } from '../../oci/registry/client.ts';
import { parseRegistryReference } from '../../oci/registry/reference.ts';

export interface OciSource {
  /** The bytes of the manifest or index that was asked for. `input-missing` when there is none. */
  root(): Promise<Buffer>;
  /** A blob's bytes, unchecked. `input-missing` when there is none. */
  read(digest: Digest): Promise<AsyncIterable<Uint8Array>>;
  close(): Promise<void>;
}

export type FindCredentials = (registry: string) => Promise<Credentials | undefined>;

export interface RegistryAccess {
  readonly findCredentials?: FindCredentials | undefined;
  readonly guard?: AddressGuard | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function registrySource(
  text: string,
  label: string,
  { findCredentials, guard, signal }: RegistryAccess,
): OciSource {
  const reference = parseRegistryReference(text);
  const { registry, repository } = reference;
  const wanted = reference.digest ?? reference.tag;
  if (wanted === undefined)
    throw new ImagoError('reference-malformed', `${label} has neither tag nor digest.`);
  let client: RegistryClient | undefined;
  const connect = async () => {
    client ??= new RegistryClient({ registry, credentials: await findCredentials?.(registry), guard });
    return client;
  };
  return {
    async root() {
      const found = await (await connect()).manifest(repository, wanted, signal);
      if (found !== undefined) return found.bytes;
      throw gone(label, `${registry} does not have it`);
    },
    async read(digest) {
      const found = await (await connect()).openBlob(repository, digest, 0, signal);
      if (found !== undefined) return found.body;
      throw gone(label, `${registry} does not have its part ${digest}`);
    },
    async close() {
      client?.close();
    },
  };
}

/** A tag or digest chooses among several manifests; a layout with one needs none. */
export function layoutSource(folder: string, label: string, tag: string | undefined): OciSource {
  const blobPath = (digest: Digest) => join(folder, 'blobs', 'sha256', hexOf(digest));
  return {
    async root() {
      if (tag !== undefined && isDigest(tag)) return readSmall(blobPath(tag), label);
      const text = await readFile(join(folder, 'index.json')).catch(() => undefined);
      if (text === undefined) throw gone(label, 'there is no index.json in its layout');
      const { manifests } = parseIndex(text, `${label}: index.json`);
      const named = manifests.find((entry) => entry.annotations?.[annotationKeys.tag] === tag);
      const chosen = named ?? only(manifests);
      if (chosen === undefined) throw gone(label, `its layout has no ${tag ?? 'single image'}`);
      return readSmall(blobPath(chosen.digest), label);
    },
    async read(digest) {
      const path = blobPath(digest);
      if ((await stat(path).catch(() => undefined)) === undefined) {
        throw gone(label, `its layout lacks ${digest}`);
      }
      return createReadStream(path, { highWaterMark: 1 << 20 });
    },
    async close() {},
  };
}

function only<T>(items: readonly T[]): T | undefined {
  return items.length === 1 ? items[0] : undefined;
}

async function readSmall(path: string, label: string): Promise<Buffer> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw gone(label, 'its layout lacks the manifest');
  if (found.size > maxManifestSize)
    throw new ImagoError('input-mismatch', `The manifest of ${label} is too large.`);
  return readFile(path);
}

export function gone(label: string, why: string): ImagoError {
  return new ImagoError('input-missing', `${label} cannot be had: ${why}.`);
}
