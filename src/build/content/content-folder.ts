// The content of the build cache: inputs under the sha256 of their content, and the archives of layers. All builds of
// one cache share it. A file appears complete or not at all. An input is checked when it is taken and while it is
// read: a damaged one is absent.
import { createHash } from 'node:crypto';
import { type BigIntStats, constants, createReadStream } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameFileError, systemCode } from '../../host/files/durable-files.ts';
import { ownedName } from '../../host/process/owned-name.ts';
import { hashFile } from '../../oci/layout/digest.ts';

export interface StoredInput {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly path: string;
}

export interface ContentFolder {
  readonly folder: string;
  /** Returns the path of a name, whether or not the file exists. */
  path(name: string): string;
  /**
   * Returns the input if it is present and intact. A damaged one is deleted, so that the next caller fetches it again.
   * A second call reads it again only if the inode, size, or times of the file changed.
   */
  find(sha256: string): Promise<StoredInput | undefined>;
  /** Forgets earlier checks: the next `find` of each input reads it again. */
  distrust(): void;
  /** Stores the content of a stream. Content other than `expected` is rejected with `input-mismatch`. */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredInput>;
  /** Moves a finished file here, under the name that the caller has computed from its content. */
  adopt(file: string, name: string, sizeBytes: number): Promise<StoredInput>;
  /** Copies a file here. */
  addFile(file: string, options?: AddOptions): Promise<StoredInput>;
  addBytes(bytes: Uint8Array, options?: AddOptions): Promise<StoredInput>;
  /** Yields the content. Throws `input-damaged` at the end of different content, and deletes the file. */
  read(input: StoredInput): AsyncIterable<Uint8Array>;
  /** Returns the checked content of a small input. Throws `input-mismatch` for more than 16 MiB. */
  readBytes(input: StoredInput): Promise<Buffer>;
  /** Returns the path of a new file on the same file system, for `adopt`. */
  temporary(): Promise<string>;
}

export interface AddOptions {
  readonly expected?: string;
  /** The name in errors. */
  readonly label?: string;
  readonly signal?: AbortSignal | undefined;
}

export function contentFolder(cacheFolder: string): ContentFolder {
  const folder = join(cacheFolder, 'content');
  const temporaryFolder = join(cacheFolder, 'temporary');
  const checked = new Map<string, string>();
  const taken = new Map<string, { readonly look: string; readonly input: StoredInput }>();

  /** A file that has not changed since it was copied, nor shortly before that, is not read again. */
  async function unchanged(
    source: string,
    now: BigIntStats,
    { expected }: AddOptions,
  ): Promise<StoredInput | undefined> {
    const known = taken.get(source);
    if (known?.look !== lookOf(now) || Date.now() - Number(now.mtimeMs) < settledMs) return undefined;
    if (expected !== undefined && expected !== known.input.sha256) return undefined;
    return store.find(known.input.sha256);
  }

  const path = (name: string) => join(folder, name.slice(0, 2), name);

  async function temporary(): Promise<string> {
    await mkdir(temporaryFolder, { recursive: true });
    return join(temporaryFolder, ownedName());
  }

  async function publish(file: string, sha256: string, sizeBytes: number): Promise<StoredInput> {
    const target = path(sha256);
    await mkdir(dirname(target), { recursive: true });
    await rename(file, target);
    checked.set(sha256, lookOf(await stat(target, { bigint: true })));
    return { sha256, sizeBytes, path: target };
  }

  async function drop(sha256: string): Promise<void> {
    checked.delete(sha256);
    await rm(path(sha256), { force: true });
  }

  async function* read({ sha256, path: file }: StoredInput): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const part of createReadStream(file, { highWaterMark: 1 << 20 })) {
      hash.update(part);
      yield part;
    }
    const found = hash.digest('hex');
    if (found === sha256) return;
    await drop(sha256);
    throw damaged(sha256, found);
  }

  const store: ContentFolder = {
    folder,
    path,
    temporary,
    async find(sha256) {
      const file = path(sha256);
      const handle = await open(file, 'r').catch(() => undefined);
      if (handle === undefined) return undefined;
      try {
        const now = await handle.stat({ bigint: true });
        if (checked.get(sha256) !== lookOf(now) && (await hashFile(file)) !== `sha256:${sha256}`) {
          await drop(sha256);
          return undefined;
        }
        checked.set(sha256, lookOf(await markUse(handle, now)));
        return { sha256, sizeBytes: Number(now.size), path: file };
      } finally {
        await handle.close();
      }
    },
    distrust: () => checked.clear(),
    async add(content, options = {}) {
      const file = await temporary();
      const hash = createHash('sha256');
      let sizeBytes = 0;
      try {
        const handle = await open(file, 'wx', 0o644);
        try {
          for await (const part of content) {
            hash.update(part);
            sizeBytes += part.length;
            await handle.writeFile(part);
          }
          await handle.datasync();
        } finally {
          await handle.close();
        }
        const sha256 = hash.digest('hex');
        if (options.expected !== undefined && options.expected !== sha256) {
          throw mismatch(options.label ?? 'an input', options.expected, sha256);
        }
        return await publish(file, sha256, sizeBytes);
      } catch (error) {
        await rm(file, { force: true });
        throw nameFileError(error);
      }
    },
    addBytes: (bytes, options) => store.add(Readable.from([bytes]), options),
    read,
    async readBytes(input) {
      if (input.sizeBytes > maxWhole) {
        throw new ImagoError(
          'input-mismatch',
          `An input of ${input.sizeBytes} bytes is too large to be read whole.`,
        );
      }
      const bytes = await readFile(input.path);
      const found = createHash('sha256').update(bytes).digest('hex');
      if (found === input.sha256) return bytes;
      await drop(input.sha256);
      throw damaged(input.sha256, found);
    },
    adopt: publish,
    async addFile(source, options = {}) {
      const before = await stat(source, { bigint: true }).catch(() => undefined);
      const known = before && (await unchanged(source, before, options));
      if (known !== undefined) return known;
      const file = await temporary();
      try {
        await copyFile(source, file, constants.COPYFILE_FICLONE).catch((cause: unknown) => {
          throw unreadable(source, cause);
        });
        const stored = await store.add(createReadStream(file, { highWaterMark: 1 << 20 }), options);
        if (before !== undefined) taken.set(source, { look: lookOf(before), input: stored });
        return stored;
      } finally {
        await rm(file, { force: true });
      }
    },
  };
  return store;
}

/** A file can change twice within one tick of the clock: younger ones are read again. */
const settledMs = 3000;

/** A use is recorded as the time of the file, for `pruneCache`; seldom, because a changed time means another check. */
const noteUseMs = 600_000;

async function markUse(handle: FileHandle, now: BigIntStats): Promise<BigIntStats> {
  const used = Date.now();
  if (Math.abs(used - Number(now.mtimeMs)) < noteUseMs) return now;
  await handle.utimes(used / 1000, used / 1000).catch(() => undefined);
  return handle.stat({ bigint: true });
}

function lookOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function unreadable(file: string, cause: unknown): unknown {
  if (!['ENOENT', 'EACCES', 'EISDIR'].includes(systemCode(cause) ?? '')) return nameFileError(cause);
  return new ImagoError('file-missing', `${file} is not there or cannot be read.`, { cause });
}

const maxWhole = 16 * 1024 * 1024;

function damaged(sha256: string, found: string): ImagoError {
  return new ImagoError(
    'input-damaged',
    `The input with the sha256 ${sha256} is damaged in the cache: it has the sha256 ${found}.`,
    { details: { expected: sha256, found } },
  );
}

export function mismatch(label: string, expected: string, found: string): ImagoError {
  return new ImagoError('input-mismatch', `${label} has the sha256 ${found}, and not ${expected}.`, {
    details: { expected, found },
  });
}
