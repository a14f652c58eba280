// The inputs of builds, each under the sha256 of its content, shared by all builds of one cache folder. A file
// appears whole or not at all, and is checked when it is taken and while it is read: what is damaged counts as
// absent.
import { createHash } from 'node:crypto';
import { type BigIntStats, constants, createReadStream } from 'node:fs';
import { copyFile, type FileHandle, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameFileError } from '../../host/files/durable-files.ts';
import { ownedName } from '../../host/process/owned-name.ts';

export interface StoredInput {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly path: string;
}

export interface InputCache {
  readonly folder: string;
  /** Where the input is or would be. */
  path(sha256: string): string;
  /**
   * The input if it is there and whole. A damaged one is taken away, so that the next caller fetches it anew.
   * A second call reads it again only when the file does not look as it did: its place, size and times.
   */
  find(sha256: string): Promise<StoredInput | undefined>;
  /** Trusts no earlier look: the next `find` of each input reads it again. */
  distrust(): void;
  /** Takes in what a stream brings. Content other than `expected` is refused with `input-mismatch`. */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredInput>;
  /** Moves a finished file in, whose sha256 the caller has just computed. */
  adopt(file: string, sha256: string, sizeBytes: number): Promise<StoredInput>;
  /** Copies a file in. */
  addFile(file: string, options?: AddOptions): Promise<StoredInput>;
  addBytes(bytes: Uint8Array, options?: AddOptions): Promise<StoredInput>;
  /** Throws `input-damaged` at the end of other content than it should be; the file is gone then. */
  read(input: StoredInput): AsyncIterable<Uint8Array>;
  /** Whole and checked, for small ones: `input-mismatch` for more than 16 MiB. */
  readBytes(input: StoredInput): Promise<Buffer>;
  /** An empty path on the same file system, for files that are adopted. */
  temporary(): Promise<string>;
}

export interface AddOptions {
  readonly expected?: string;
  /** Said in errors. */
  readonly label?: string;
  readonly signal?: AbortSignal | undefined;
}

export function inputCache(cacheFolder: string): InputCache {
  const folder = join(cacheFolder, 'inputs');
  const temporaryFolder = join(cacheFolder, 'temporary');
  const checked = new Map<string, string>();
  const taken = new Map<string, { readonly look: string; readonly input: StoredInput }>();

  /** A file that looks as it did when it was taken in, and did so for a while, need not be read again. */
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

  const path = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);

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

  const store: InputCache = {
    folder,
    path,
    temporary,
    async find(sha256) {
      const file = path(sha256);
      const handle = await open(file, 'r').catch(() => undefined);
      if (handle === undefined) return undefined;
      try {
        const now = await handle.stat({ bigint: true });
        if (checked.get(sha256) !== lookOf(now) && (await hashFile(file)) !== sha256) {
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
            await writeAll(handle, part);
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
    addBytes: (bytes, options) => store.add(oncePiece(bytes), options),
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

/** A file may change twice within one tick of the clock: younger ones are read again. */
const settledMs = 3000;

/** Use is noted by the file's time, for what removes the oldest; not each time, as another look is read again. */
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
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code !== 'ENOENT' && code !== 'EACCES' && code !== 'EISDIR') return nameFileError(cause);
  return new ImagoError('file-missing', `${file} is not there or cannot be read.`, { cause });
}

const maxWhole = 16 * 1024 * 1024;

async function* oncePiece(bytes: Uint8Array) {
  yield bytes;
}

async function writeAll(handle: Awaited<ReturnType<typeof open>>, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
  }
}

/** The sha256 of a file in hexadecimal digits. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

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
