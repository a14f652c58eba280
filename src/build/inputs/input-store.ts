// The inputs of builds, each under the sha256 of its content, shared by all builds of one cache folder. A file
// appears whole or not at all, and is checked each time it is taken: what is damaged counts as absent.
import { createHash, randomUUID } from 'node:crypto';
import { type BigIntStats, constants, createReadStream } from 'node:fs';
import { copyFile, mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImagoError } from '../../domain/errors.ts';
import { nameFileError } from '../../images/file-errors.ts';

export interface StoredInput {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly path: string;
}

export interface InputStore {
  readonly folder: string;
  /** Where the input is or would be. */
  path(sha256: string): string;
  /**
   * The input if it is there and whole. A damaged one is taken away, so that the next caller fetches it anew.
   * A second call in one process within a short time trusts the first.
   */
  find(sha256: string): Promise<StoredInput | undefined>;
  /** Takes in what a stream brings. Content other than `expected` is refused with `input-mismatch`. */
  add(content: AsyncIterable<Uint8Array>, options?: AddOptions): Promise<StoredInput>;
  /** Moves a finished file in, whose sha256 the caller has just computed. */
  adopt(file: string, sha256: string, sizeBytes: number): Promise<StoredInput>;
  /** Copies a file in. */
  addFile(file: string, options?: AddOptions): Promise<StoredInput>;
  addBytes(bytes: Uint8Array, options?: AddOptions): Promise<StoredInput>;
  read(input: StoredInput): AsyncIterable<Uint8Array>;
  /** Whole, for small ones: `input-mismatch` for more than 16 MiB. */
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

export function inputStore(cacheFolder: string): InputStore {
  const folder = join(cacheFolder, 'inputs');
  const temporaryFolder = join(cacheFolder, 'temporary');
  const checked = new Set<string>();
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
    return (await stat(known.input.path).catch(() => undefined)) && known.input;
  }

  const path = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);

  async function temporary(): Promise<string> {
    await mkdir(temporaryFolder, { recursive: true });
    return join(temporaryFolder, `${process.pid}-${randomUUID()}`);
  }

  async function publish(file: string, sha256: string, sizeBytes: number): Promise<StoredInput> {
    const target = path(sha256);
    await mkdir(dirname(target), { recursive: true });
    await rename(file, target);
    checked.add(sha256);
    return { sha256, sizeBytes, path: target };
  }

  const store: InputStore = {
    folder,
    path,
    temporary,
    async find(sha256) {
      const file = path(sha256);
      const handle = await open(file, 'r').catch(() => undefined);
      if (handle === undefined) return undefined;
      const { size } = await handle.stat().finally(() => handle.close());
      if (!checked.has(sha256)) {
        if ((await hashFile(file)) !== sha256) {
          await rm(file, { force: true });
          return undefined;
        }
        checked.add(sha256);
      }
      const now = new Date();
      await utimes(file, now, now).catch(() => undefined);
      return { sha256, sizeBytes: size, path: file };
    },
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
    read: (input) => createReadStream(input.path, { highWaterMark: 1 << 20 }),
    async readBytes(input) {
      if (input.sizeBytes > maxWhole) {
        throw new ImagoError(
          'input-mismatch',
          `An input of ${input.sizeBytes} bytes is too large to be read whole.`,
        );
      }
      return readFile(input.path);
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

export function mismatch(label: string, expected: string, found: string): ImagoError {
  return new ImagoError('input-mismatch', `${label} has the sha256 ${found}, and not ${expected}.`, {
    details: { expected, found },
  });
}
