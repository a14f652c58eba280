// Sends the local inputs of a recipe to a daemon on another host: only the files that the recipe names, and of these only
// those that the daemon does not have.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Client } from '../../api/client/client.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { findOpenFile } from '../../domain/recipe/find-open-file.ts';
import type { SentEntry, SentList } from '../../domain/recipe/sent-files.ts';
import { formatBytes } from '../../domain/value/bytes.ts';
import { createProgress, type ProgressView } from '../output/progress.ts';
import type { Invocation } from '../spec/command.ts';

export interface FilesToSend {
  /** As the daemon requests them, relative to the recipe. */
  readonly paths: readonly string[];
  /** The recipe and what it extends: a path that they do not name is not sent. */
  readonly texts: readonly string[];
  /** The directories that the recipe can read, the first one its own. */
  readonly opened: readonly string[];
}

interface Content {
  readonly sizeBytes: number;
  read(): AsyncIterable<Buffer>;
}

/** Rounds of sending: a connection that is lost is one, and so is a daemon that pruned files in the meantime. */
const maxRounds = 5;

/** Sends what the paths of a recipe lead to, and returns the sha256 of the list. */
export async function sendFiles(
  invocation: Invocation,
  { paths, texts, opened }: FilesToSend,
): Promise<string> {
  const named = namedPaths(texts);
  const other = paths.find((path) => !named.some((pattern) => pattern.test(path)));
  if (other !== undefined) {
    throw new ImagoError('daemon-answer-invalid', `The daemon requests ${other}, which no recipe names.`);
  }
  const view = createProgress(invocation.out, process.stderr, () => performance.now());
  try {
    const { list, contents } = await listFiles(paths, opened, invocation.signal, view);
    const text = Buffer.from(JSON.stringify(list));
    const digest = createHash('sha256').update(text).digest('hex');
    contents.set(digest, {
      sizeBytes: text.length,
      async *read() {
        yield text;
      },
    });
    const client = await invocation.client();
    for (let round = 0; round < maxRounds; round += 1) {
      const { missing } = await client.call('placeRecipeFiles', { body: { list: digest } });
      if (missing.length === 0) return digest;
      const wanted = missing.map(({ sha256 }) => sha256);
      await upload(client, wanted, contents, view, invocation.signal);
    }
    throw new ImagoError('daemon-answer-invalid', 'The daemon requests the same files repeatedly.');
  } finally {
    view.end();
  }
}

async function upload(
  client: Client,
  wanted: readonly string[],
  contents: ReadonlyMap<string, Content>,
  view: ProgressView,
  signal: AbortSignal,
): Promise<void> {
  // A daemon that requests more than was listed gets nothing.
  const files = wanted.map((sha256) => ({ sha256, content: contents.get(sha256) }));
  const total = files.reduce((sum, { content }) => sum + (content?.sizeBytes ?? 0), 0);
  let done = 0;
  async function* stream() {
    for (const { sha256, content } of files) {
      if (content === undefined)
        throw new ImagoError('daemon-answer-invalid', 'The daemon requests another file.');
      yield Buffer.from(`${sha256} ${content.sizeBytes}\n`);
      for await (const chunk of content.read()) {
        done += chunk.length;
        view.update('send', done, total, `${formatBytes(done)} of ${formatBytes(total)}`);
        yield chunk;
      }
    }
  }
  try {
    await client.upload('sendRecipeFiles', stream(), { signal });
  } catch (thrown) {
    // What arrived complete stays: the next round sends the rest.
    if (ensureImagoError(thrown).code !== 'daemon-connection-lost') throw thrown;
  }
}

interface Listed {
  readonly list: SentList;
  /** By sha256. */
  readonly contents: Map<string, Content>;
}

async function listFiles(
  paths: readonly string[],
  opened: readonly string[],
  signal: AbortSignal,
  view: ProgressView,
): Promise<Listed> {
  const [folder = '/'] = opened;
  const root = paths.map((path) => dirname(resolve(folder, path))).reduce(commonFolder, folder);
  const entries = new Map<string, SentEntry>();
  const contents = new Map<string, Content>();
  for (const path of paths) {
    const wanted = resolve(folder, path);
    await add(relative(root, wanted), await findOpenFile({ path, wanted, opened, realpath }));
  }
  return { list: { folder: relative(root, folder), entries: [...entries.values()] }, contents };

  async function add(path: string, file: string): Promise<void> {
    signal.throwIfAborted();
    const stats = await lstat(file);
    if (stats.isDirectory()) {
      if (path !== '') entries.set(path, { type: 'directory', path });
      for (const name of (await readdir(file)).sort()) await add(join(path, name), join(file, name));
    } else if (stats.isSymbolicLink()) {
      entries.set(path, { type: 'link', path, to: await readlink(file) });
    } else if (stats.isFile()) {
      view.update('send', undefined, undefined, `reading ${contents.size + 1} files`);
      const { sha256, sizeBytes } = await hash(file);
      const executable = (stats.mode & 0o100) === 0 ? {} : ({ executable: true } as const);
      entries.set(path, { type: 'file', path, sha256, sizeBytes, ...executable });
      contents.set(sha256, { sizeBytes, read: () => chunksOf(file) });
    } else throw new ImagoError('input-invalid', `${file} is neither file, directory, nor link.`);
  }
}

/**
 * Returns patterns of all that can be a path in these texts. A variable represents part of a name, and a path of a recipe in
 * another directory is requested as seen from the first one.
 */
function namedPaths(texts: readonly string[]): readonly RegExp[] {
  const lines = texts.flatMap((text) => text.split('\n'));
  const words = lines.flatMap((line) => [
    ...line.split(/[\s"'[\],]+|(?<!\$)\{|\}(?=\s*$)/),
    line.replace(/^[^:]*:\s*|\s*$/g, '').replace(/^["']|["']$/g, ''),
  ]);
  const stems = new Set(words.map((word) => word.replace(/^(?:\.{0,2}\/)+/, '').replace(/\/+$/, '')));
  return [...stems]
    .filter((stem) => stem !== '')
    .map((stem) => {
      const parts = stem.split(/\$\{[^}]*\}/).map((part) => part.replace(/[^\w/]/g, '\\$&'));
      return new RegExp(`^(?:.*/)?${parts.join('[^/]+')}/*$`);
    });
}

function commonFolder(a: string, b: string): string {
  const [left, right] = [a.split('/'), b.split('/')];
  const end = left.findIndex((part, index) => part !== right[index]);
  return left.slice(0, end === -1 ? left.length : end).join('/') || '/';
}

function chunksOf(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: 1 << 20 });
}

async function hash(file: string): Promise<{ readonly sha256: string; readonly sizeBytes: number }> {
  const found = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of chunksOf(file)) {
    found.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: found.digest('hex'), sizeBytes };
}
