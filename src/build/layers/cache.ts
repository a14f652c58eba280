// Finished layers, found by the key of everything that went into them and kept under the name of their content, as
// they are: a build reads them where they lie, after a look whether they are whole. Two who need one layer at the same
// time share the work; a damaged one counts as absent.
import {
  constants,
  copyFile,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Json } from '../../domain/value/json.ts';
import { nameFileError, systemCode } from '../../host/files/durable-files.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import { namePieces, type PieceName } from './piece-file.ts';

export interface LayerRecord extends PieceName {
  readonly key: string;
  readonly name: string;
  /** Everything that went into the key, for telling why a later one differs. */
  readonly inputs: Json;
}

export interface OpenLayer {
  readonly name: string;
  /** The archive, in the build's own folder. */
  readonly path: string;
  readonly reused: boolean;
  /** Resolves when the layer is in the cache; a build waits for it in the end, however it ends. */
  readonly stored: Promise<LayerRecord>;
}

export interface LayerRequest {
  readonly key: string;
  readonly name: string;
  readonly inputs: Json;
  /** Where the archive goes. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
  /** Writes the archive to `path`. */
  readonly make: (path: string) => Promise<void>;
}

export interface LayerCache {
  /** Whether the layer is there, and what is known about it. Its content is not looked at. */
  find(key: string): Promise<LayerRecord | undefined>;
  /** The layer from the cache, or newly made. */
  take(request: LayerRequest): Promise<OpenLayer>;
}

export function layerCache(cacheFolder: string): LayerCache {
  const keys = join(cacheFolder, 'layers', 'keys');
  const blobs = join(cacheFolder, 'layers', 'blobs');
  const recordPath = (key: string) => join(keys, `${key}.json`);
  const blobPath = (sha256: string) => join(blobs, `${sha256}.tar`);

  async function find(key: string): Promise<LayerRecord | undefined> {
    const text = await readFile(recordPath(key), 'utf8').catch(() => undefined);
    const record = text === undefined ? undefined : parseRecord(text);
    if (record === undefined || record.key !== key) return undefined;
    const found = await stat(blobPath(record.sha256)).catch(() => undefined);
    return found?.size === record.sizeBytes ? record : undefined;
  }

  /** False when the stored layer is damaged; it is gone then. */
  async function bring(record: LayerRecord, { path, signal }: LayerRequest): Promise<boolean> {
    const blob = blobPath(record.sha256);
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
    const temporary = join(dirname(path), `${key}.tar`);
    try {
      const content = await namePieces(path);
      await share(path, temporary);
      await rename(temporary, blobPath(content.sha256));
      const record = { key, name, ...content, inputs };
      const draft = join(dirname(path), `${key}.json`);
      await writeFile(draft, JSON.stringify(record));
      await rename(draft, recordPath(key));
      return record;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  return {
    find,
    async take(request) {
      await mkdir(keys, { recursive: true });
      await mkdir(blobs, { recursive: true });
      const { name, path } = request;
      const ready = Promise.withResolvers<boolean>();
      const wait = { signal: request.signal, timeoutMs: Number.POSITIVE_INFINITY };
      const stored = withFileLock(join(keys, `${request.key}.lock`), wait, async () => {
        const known = await find(request.key);
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
 * The same file under another name; a copy where a file system has no such thing. Nobody writes to it any more, and
 * nothing is flushed: what a power cut spoils is not whole when it is next looked at. False when it is gone.
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

function parseRecord(text: string): LayerRecord | undefined {
  try {
    const value = JSON.parse(text) as LayerRecord;
    const whole = typeof value.key === 'string' && typeof value.sizeBytes === 'number';
    return whole && /^[0-9a-f]{64}$/.test(value.sha256) ? value : undefined;
  } catch {
    return undefined;
  }
}
