// The files of recipes that clients on other hosts send. Content is in the build cache like any input; the directory of a
// recipe is made from it, so that everything after it reads files as if the recipe were here.
import { constants } from 'node:fs';
import { chmod, copyFile, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type SentFile, type SentList, sentList } from '../../domain/recipe/sent-files.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { nameFileError, systemCode } from '../../host/files/durable-files.ts';
import { requireSpace } from '../../host/files/free-space.ts';
import type { SentFiles, WantedFile } from '../../ports/image-store/sent-files.ts';
import { type ContentFolder, contentFolder } from '../content/content-folder.ts';
import { cacheBytes, defaultCacheLimits } from '../content/prune.ts';
import { readRecord } from '../content/records.ts';

export interface SentFilesOptions {
  readonly cacheFolder: string;
  /** Brings the cache within its limit. */
  readonly prune: () => Promise<unknown>;
  /** What the files of one recipe can have together. */
  readonly maxBytes?: number;
  /** What the cache can have before nothing more is accepted: what was used within the hour is never pruned. */
  readonly quotaBytes?: number;
}

const recipeBytes = 16 * 1024 ** 3;

export function sentFiles({
  cacheFolder,
  prune,
  maxBytes = recipeBytes,
  quotaBytes = 2 * defaultCacheLimits.maxBytes,
}: SentFilesOptions): SentFiles {
  const inputs = contentFolder(cacheFolder);
  const folder = join(cacheFolder, sentFolder);

  /** Returns how many bytes the cache can take. */
  async function room(wanted: number): Promise<number> {
    const left = async () => quotaBytes - (await cacheBytes(cacheFolder));
    const now = await left();
    if (now >= wanted) return now;
    await prune();
    return left();
  }

  function requireRoom(left: number, bytes: number): void {
    if (left >= bytes) return;
    throw new ImagoError('upload-quota', `The build cache would have more than ${formatBytes(quotaBytes)}.`);
  }

  return {
    async receive(content, signal) {
      await mkdir(cacheFolder, { recursive: true });
      const reader = createReader(content);
      let files = 0;
      let received = 0;
      const left = await room(0);
      for (;;) {
        signal.throwIfAborted();
        const line = await reader.line();
        if (line === undefined) return { files };
        const [, sha256, digits] = /^([0-9a-f]{64}) (\d{1,15})$/.exec(line) ?? [];
        if (sha256 === undefined) throw invalid('A file has no line with its sha256 and size before it.');
        const size = Number(digits);
        received += size;
        if (received > maxBytes) throw tooLarge(maxBytes);
        requireRoom(left, received);
        await requireSpace(cacheFolder, size, 'A file of the recipe');
        await inputs.add(reader.take(size), { expected: sha256, label: 'A file of the recipe', signal });
        files += 1;
      }
    },
    async place(list) {
      const stored = await inputs.find(list);
      if (stored === undefined) return { missing: [{ sha256: list }] };
      const read = readList((await inputs.readBytes(stored)).toString('utf8'));
      const files = read.entries.filter((entry) => entry.type === 'file');
      const total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      if (total > maxBytes) throw tooLarge(maxBytes);
      if (await touch(join(folder, list, markName))) return { missing: [] };
      const missing = await missingFiles(inputs, files);
      const toCome = missing.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0);
      requireRoom(await room(toCome + total), toCome + total);
      if (missing.length > 0) return { missing };
      await requireSpace(cacheFolder, total, "The recipe's directory");
      await makeFolder(inputs, read, join(folder, list));
      return { missing: [] };
    },
  };
}

/** Below the cache: one directory for each list. */
const sentFolder = 'sent';
/** Its content says where the recipe is, its time when the directory was used. */
const markName = 'ready';

/** Returns where the recipe and its files are, as absolute paths. Throws `file-missing` once they were pruned. */
export async function openSentFolder(
  cacheFolder: string,
  list: string,
): Promise<{ readonly folder: string; readonly roots: readonly string[] }> {
  const place = join(cacheFolder, sentFolder, list);
  const mark = await readRecord<Pick<SentList, 'folder'>>(join(place, markName));
  if (mark === undefined) {
    throw new ImagoError(
      'file-missing',
      'The files that were sent with the recipe are no longer in the cache.',
      {
        hint: 'Run the command again: it sends what is missing.',
      },
    );
  }
  await touch(join(place, markName));
  const root = join(place, 'files');
  return { folder: join(root, mark.folder ?? ''), roots: [root] };
}

async function missingFiles(inputs: ContentFolder, files: readonly SentFile[]): Promise<WantedFile[]> {
  const wanted = new Map(files.map(({ sha256, sizeBytes }) => [sha256, sizeBytes]));
  const missing: WantedFile[] = [];
  for (const [sha256, sizeBytes] of wanted) {
    const stored = await inputs.find(sha256);
    if (stored === undefined) missing.push({ sha256, sizeBytes });
    else if (stored.sizeBytes !== sizeBytes)
      throw invalid(`The file ${sha256} has ${stored.sizeBytes} bytes.`);
  }
  return missing;
}

async function makeFolder(
  inputs: ContentFolder,
  { folder, entries }: SentList,
  target: string,
): Promise<void> {
  const work = await inputs.temporary();
  const root = join(work, 'files');
  try {
    await mkdir(join(root, folder), { recursive: true });
    for (const entry of entries) {
      const path = join(root, entry.path);
      await mkdir(entry.type === 'directory' ? path : dirname(path), { recursive: true });
      if (entry.type !== 'file') continue;
      await copyFile(inputs.path(entry.sha256), path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await chmod(path, entry.executable === true ? 0o755 : 0o644);
    }
    // Last, so that nothing is written through them.
    for (const entry of entries) if (entry.type === 'link') await symlink(entry.to, join(root, entry.path));
    await writeFile(join(work, markName), JSON.stringify({ folder }));
    await mkdir(dirname(target), { recursive: true });
    await rename(work, target);
  } catch (error) {
    // Another request made the same directory.
    if (!['EEXIST', 'ENOTEMPTY'].includes(systemCode(error) ?? '')) throw nameFileError(error);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function readList(text: string): SentList {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid('The list of the files is not JSON.', cause);
  }
  const { success, data, error } = sentList.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  throw invalid(`The list of the files is not valid: ${issue?.path.join('.')} ${issue?.message}`);
}

/** Returns whether the file exists, and marks it as used. */
async function touch(file: string): Promise<boolean> {
  const now = Date.now() / 1000;
  return utimes(file, now, now).then(
    () => true,
    () => false,
  );
}

interface StreamReader {
  /** Returns the next line without its end; `undefined` at the end of the stream. */
  line(): Promise<string | undefined>;
  /** Yields the next bytes. Throws if there are fewer. */
  take(bytes: number): AsyncGenerator<Uint8Array>;
}

const maxLine = 200;

function createReader(content: AsyncIterable<Uint8Array>): StreamReader {
  const source = content[Symbol.asyncIterator]();
  let rest: Uint8Array = Buffer.alloc(0);
  async function more(): Promise<Uint8Array | undefined> {
    const { done, value } = await source.next();
    return done === true ? undefined : value;
  }
  return {
    async line() {
      for (;;) {
        const end = rest.indexOf(0x0a);
        if (end !== -1 && end <= maxLine) {
          const line = Buffer.from(rest.subarray(0, end)).toString('latin1');
          rest = rest.subarray(end + 1);
          return line;
        }
        if (rest.length > maxLine) throw invalid('A line of the upload is too long.');
        const next = await more();
        if (next === undefined && rest.length === 0) return undefined;
        if (next === undefined) throw invalid('The upload ends within a line.');
        rest = Buffer.concat([rest, next]);
      }
    },
    async *take(bytes) {
      for (let left = bytes; left > 0; ) {
        if (rest.length === 0) {
          const next = await more();
          if (next === undefined) throw invalid('The upload ends within a file.');
          rest = next;
        }
        const part = rest.subarray(0, left);
        rest = rest.subarray(part.length);
        left -= part.length;
        yield part;
      }
    },
  };
}

function invalid(message: string, cause?: unknown): ImagoError {
  return new ImagoError('input-invalid', message, { cause });
}

function tooLarge(maxBytes: number): ImagoError {
  return new ImagoError(
    'upload-quota',
    `The files of one recipe can have ${formatBytes(maxBytes)} together.`,
    {
      hint: 'Give the largest ones by address and sha256, which the daemon fetches directly.',
    },
  );
}
