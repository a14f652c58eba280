// Finished layers, found by the key of everything that went into them, and stored in the content folder under the
// name of their content: a build reads them in place, after a check that they are intact. Two builds that need one
// layer at the same time share the work; a damaged one is absent.
import { constants, copyFile, link, mkdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Json } from '../../domain/value/json.ts';
import { nameFileError, systemCode } from '../../host/files/durable-files.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import { type ContentFolder, contentFolder } from '../content/content-folder.ts';
import { readRecord, writeRecord } from '../content/records.ts';
import { namePieces, type PieceName } from './piece-file.ts';

export interface LayerRecord extends PieceName {
  readonly key: string;
  readonly name: string;
  /** Everything that went into the key, to explain why a later one differs. */
  readonly inputs: Json;
}

export interface OpenLayer {
  readonly name: string;
  /** The archive, in the build's own directory. */
  readonly path: string;
  readonly reused: boolean;
  /** Resolves when the layer is in the cache; every build awaits it before it ends. */
  readonly stored: Promise<LayerRecord>;
}

export interface LayerRequest {
  readonly key: string;
  readonly name: string;
  readonly inputs: Json;
  /** The path of the archive. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Writes the archive to `path`. */
  readonly make: (path: string) => Promise<void>;
}

export interface LayerCache {
  /** Returns the record of a layer if the cache has it. Its content is not checked. */
  find(key: string): Promise<LayerRecord | undefined>;
  /** Returns the layer from the cache, or makes it. */
  take(request: LayerRequest): Promise<OpenLayer>;
}

export function layerCache(
  cacheFolder: string,
  content: ContentFolder = contentFolder(cacheFolder),
): LayerCache {
  const recordPath = (key: string) => join(content.folder, 'keys', `${key}.json`);
  const blobPath = ({ sha256 }: LayerRecord) => content.path(`${sha256}.tar`);

  async function find(key: string): Promise<LayerRecord | undefined> {
    const record = await readRecord<LayerRecord>(recordPath(key));
    if (record === undefined || !isWhole(record) || record.key !== key) return undefined;
    const found = await stat(blobPath(record)).catch(() => undefined);
    return found?.size === record.sizeBytes ? record : undefined;
  }

  /** Returns false if the stored layer is damaged, and deletes it then. */
  async function bring(record: LayerRecord, { path, signal }: LayerRequest): Promise<boolean> {
    const blob = blobPath(record);
    if (!(await share(blob, path))) return false;
    if ((await namePieces(path, signal)).sha256 === record.sha256) {
      const now = new Date();
      for (const used of [blob, recordPath(record.key)]) await utimes(used, now, now).catch(() => undefined);
      return true;
    }
    for (const bad of [path, blob, recordPath(record.key)]) await rm(bad, { force: true });
    return false;
  }

  async function store({ key, name, inputs, path }: LayerRequest): Promise<LayerRecord> {
    const record = { key, name, ...(await namePieces(path)), inputs };
    const temporary = await content.temporary();
    try {
      await share(path, temporary);
      await content.adopt(temporary, `${record.sha256}.tar`, record.sizeBytes);
    } finally {
      await rm(temporary, { force: true });
    }
    await writeRecord(cacheFolder, recordPath(key), JSON.stringify(record));
    return record;
  }

  return {
    find,
    async take(request) {
      const { key, name, path } = request;
      await mkdir(dirname(recordPath(key)), { recursive: true });
      const ready = Promise.withResolvers<boolean>();
      const wait = { signal: request.signal, timeoutMs: Number.POSITIVE_INFINITY };
      const stored = withFileLock(join(dirname(recordPath(key)), `${key}.lock`), wait, async () => {
        const known = await find(key);
        if (known !== undefined && (await bring(known, request))) {
          ready.resolve(true);
          return known;
        }
        await request.make(path);
        ready.resolve(false);
        return store(request);
      }).catch((error: unknown) => {
        throw nameFileError(error);
      });
      stored.catch((error: unknown) => ready.reject(error));
      return { name, path, reused: await ready.promise, stored };
    },
  };
}

/**
 * Gives the same file another name, or copies it if the file system has no links. No one writes to it anymore, and
 * nothing is flushed: what a power cut damages fails its next check. Returns false if the file no longer exists.
 */
async function share(from: string, to: string): Promise<boolean> {
  await rm(to, { force: true });
  try {
    await link(from, to).catch(() => copyFile(from, to, constants.COPYFILE_FICLONE));
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw error;
  }
}

function isWhole(value: Partial<LayerRecord>): value is LayerRecord {
  const { key, sizeBytes, sha256 = '' } = value;
  return typeof key === 'string' && typeof sizeBytes === 'number' && /^[0-9a-f]{64}$/.test(sha256);
}
