// A recipe from its files, as it is sent to the daemon, which checks it and asks for what it extends. Paths in it
// begin at its own folder; a daemon on another machine does not get to know them.
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Client } from '../../api/client/client.ts';
import type { AnswerOf, InputOf } from '../../api/contract/types.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { findOpenFile } from '../../domain/recipe/find-open-file.ts';
import { type FlagSpec, type Invocation, isSet, text, texts } from '../spec/command.ts';
import { readRecipeCommit } from './recipe-commit.ts';

export type SentRecipe = InputOf<'showRecipe'>['body'];

export const recipeFlags = {
  overlay: {
    what: 'a file to lay over the recipe; again for more',
    value: 'FILE',
    repeated: true,
    completes: 'file',
  },
  kubernetes: {
    what: 'the Kubernetes version, in place of the one in the recipe; one of its matrix, if it has one',
    value: 'VERSION',
  },
  files: {
    what: 'a directory that the recipe can read files from, besides its own and its Git work tree; again for more',
    value: 'DIRECTORY',
    repeated: true,
    completes: 'file',
  },
  provider: { what: 'who builds', value: 'NAME' },
} as const satisfies Record<string, FlagSpec>;

const mostFiles = 100;
/** What errors call it. */
const kubernetesOverlay = '--kubernetes';

/** The recipe with all files that it needs, and what the daemon makes of it. */
export async function gatherRecipe(
  invocation: Invocation,
  client: Client,
  file: string,
): Promise<{
  readonly sent: SentRecipe;
  readonly shown: AnswerOf<'showRecipe'>;
  /** Where its lock is, or would be. */
  readonly lockFile: string;
}> {
  const kubernetes = text(invocation, 'kubernetes');
  const overlays = [
    ...texts(invocation, 'overlay'),
    ...(kubernetes === undefined ? [] : [kubernetesOverlay]),
  ];
  const lockFile = lockFileOf(file, texts(invocation, 'overlay'), kubernetes);
  const provider = invocation.flags.provider;
  const needsOwn = isSet(invocation, 'locked') && texts(invocation, 'overlay').length > 0;
  const { lock, readFrom } = await readLock(file, lockFile, needsOwn);
  const files: Record<string, string | null> = {};
  for (const overlay of texts(invocation, 'overlay')) files[overlay] = await readRecipeFile(overlay);
  if (kubernetes !== undefined) files[kubernetesOverlay] = `kubernetes: ${JSON.stringify(kubernetes)}\n`;
  let sent: SentRecipe = {
    recipe: await readRecipeFile(file),
    fileName: file,
    files,
    ...(overlays.length > 0 && { overlays: [...overlays] }),
    ...(lock !== undefined && { lock, lockName: readFrom }),
    ...(typeof provider === 'string' && { provider }),
    ...placeOf(invocation, file),
  };
  for (;;) {
    try {
      const shown = await client.call('showRecipe', { body: sent });
      const read = [file, ...filesRead(sent), ...(lock === undefined ? [] : [readFrom])];
      const source = await readRecipeCommit(file, read);
      const dirty = source?.dirty || isLaidOver(shown);
      return { sent: { ...sent, ...(source && { source: { ...source, dirty } }) }, shown, lockFile };
    } catch (thrown) {
      const wanted = wantedFiles(thrown);
      if (wanted.length === 0 || Object.keys(sent.files ?? {}).length > mostFiles) throw thrown;
      for (const path of wanted) {
        const text = await readExtended(path, sent, openedBy(invocation, file));
        sent = { ...sent, files: { ...sent.files, [path]: text } };
      }
    }
  }
}

/**
 * Where the files of a recipe are, for a daemon on this host: its own directory, the Git work tree that it is in, and
 * those that the user opened. A work tree that is the home directory is no reason to open all of it.
 */
export function placeOf(
  invocation: Invocation,
  file: string,
): { readonly folder?: string; readonly roots?: string[] } {
  if (process.env.IMAGO_URL) return {};
  const [folder = '/', ...roots] = openedBy(invocation, file);
  return { folder, roots };
}

function openedBy(invocation: Invocation, file: string): readonly string[] {
  const folder = resolve(dirname(file));
  const tree = workTree(folder);
  const given = texts(invocation, 'files').map((path) => resolve(path));
  return [folder, ...(tree === undefined ? [] : [tree]), ...given];
}

function workTree(folder: string): string | undefined {
  if (folder === homedir() || folder === dirname(folder)) return undefined;
  return existsSync(join(folder, '.git')) ? folder : workTree(dirname(folder));
}

/** Whether the flag says something that the files do not: a version of a matrix is in them. */
function isLaidOver({ text: whole }: AnswerOf<'showRecipe'>): boolean {
  return whole.includes(` # ${kubernetesOverlay}:`);
}

function filesRead({ files }: SentRecipe): readonly string[] {
  return Object.entries(files ?? {}).flatMap(([path, text]) => (text === null ? [] : [path]));
}

/** Beside `imago.yaml` lies `imago.lock`; with `debug.yaml` laid over it, `imago.debug.lock`. */
export function lockFileOf(file: string, overlays: readonly string[], kubernetes?: string): string {
  const stem = (path: string) => path.replace(/\.ya?ml$/i, '');
  const over = overlays.map((path) => `.${stem(basename(path))}`).join('');
  return `${stem(file)}${over}${kubernetes === undefined ? '' : `.kubernetes-${kubernetes}`}.lock`;
}

/**
 * A recipe with something laid over it that has no lock of its own begins with that of the plain recipe, in which the
 * versions of a matrix stand side by side.
 */
async function readLock(
  file: string,
  lockFile: string,
  needsOwn: boolean,
): Promise<{ readonly lock: string | undefined; readonly readFrom: string }> {
  const own = await readIfThere(lockFile);
  const plain = lockFileOf(file, []);
  if (own !== undefined || needsOwn || plain === lockFile) return { lock: own, readFrom: lockFile };
  return { lock: await readIfThere(plain), readFrom: plain };
}

function wantedFiles(thrown: unknown): readonly string[] {
  const { code, details } = ensureImagoError(thrown);
  if (code !== 'recipe-files-wanted' || !Array.isArray(details?.files)) return [];
  return details.files.filter((path) => typeof path === 'string');
}

/**
 * Reads a file that the recipe extends; `null` if there is none. Its path comes from a recipe that others wrote, or from
 * a daemon that made it up: it must be in an open directory, or next to an overlay, and a file that was sent must name it.
 */
async function readExtended(
  path: string,
  { recipe, files = {}, overlays = [] }: SentRecipe,
  opened: readonly string[],
): Promise<string | null> {
  const isNamed = [recipe, ...Object.values(files)].some((sent) => sent?.includes(basename(path)));
  const near = overlays.filter((one) => one !== kubernetesOverlay).map((one) => resolve(dirname(one)));
  try {
    const open = isNamed ? [...opened, ...near] : [];
    const found = await findOpenFile({ path, wanted: resolve(path), opened: open, realpath });
    return (await readIfThere(found)) ?? null;
  } catch (thrown) {
    if (ensureImagoError(thrown).code === 'file-missing') return null;
    throw thrown;
  }
}

export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, cause);
  }
}

async function readRecipeFile(file: string): Promise<string> {
  const found = await readIfThere(file);
  if (found !== undefined) return found;
  throw new ImagoError('file-missing', `There is no file ${file}.`, {
    hint: 'Name the recipe, or make a first one with `imago init`.',
  });
}

function unreadable(file: string, cause: unknown): ImagoError {
  return new ImagoError('file-missing', `${file} cannot be read: ${(cause as Error).message}`, {
    hint: 'Check the path and its permissions.',
    cause,
  });
}
