// Reads a recipe from its files and sends it to the daemon, which validates it and requests the files that it extends.
// A daemon on this host reads local inputs; one on another host requests them.
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { InputOf } from '../../api/contract/types.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { kubernetesOverlay } from '../../domain/image/recipe-commit.ts';
import { findOpenFile } from '../../domain/recipe/find-open-file.ts';
import { type ArgumentSpec, type FlagSpecs, type Invocation, isSet, text, texts } from '../spec/command.ts';
import { readRecipeCommit } from './recipe-commit.ts';

export type SentRecipe = InputOf<'showRecipe'>['body'];

export const recipeArguments: readonly ArgumentSpec[] = [
  {
    name: 'FILE',
    description: 'Recipe file (default: imago.yaml)',
    optional: true,
    completes: 'file',
    field: false,
  },
];

export function recipeFile({ args }: Invocation): string {
  return args.FILE ?? 'imago.yaml';
}

export const recipeFlags: FlagSpecs = {
  overlay: {
    description: 'Overlay file to merge into the recipe',
    value: 'FILE',
    repeated: true,
    completes: 'file',
    field: false,
  },
  kubernetes: {
    description: 'Override the Kubernetes version of the recipe; with a matrix, select one of its versions',
    value: 'VERSION',
    field: false,
  },
  files: {
    description: 'Directory that the recipe can read files from, besides its own and its Git work tree',
    value: 'DIRECTORY',
    repeated: true,
    completes: 'file',
    field: false,
  },
  provider: { description: 'Provider that runs the build', value: 'NAME' },
};

const maxFiles = 100;

/**
 * Calls `send` with the recipe and its commit, and again each time that the daemon requests a file that the recipe
 * extends. `lockFile` is the path of its lock, which can be missing.
 */
export async function sendRecipe<T>(
  invocation: Invocation,
  send: (sent: SentRecipe, lockFile: string) => Promise<T>,
): Promise<T> {
  const file = recipeFile(invocation);
  const kubernetes = text(invocation, 'kubernetes');
  const overlays = [
    ...texts(invocation, 'overlay'),
    ...(kubernetes === undefined ? [] : [kubernetesOverlay]),
  ];
  const lockFile = lockFileOf(file, texts(invocation, 'overlay'), kubernetes);
  const needsOwn = isSet(invocation, 'locked') && texts(invocation, 'overlay').length > 0;
  const { lock, readFrom } = await readLock(file, lockFile, needsOwn);
  const files: Record<string, string | null> = {};
  for (const overlay of texts(invocation, 'overlay')) files[overlay] = await readRecipeFile(overlay);
  if (kubernetes !== undefined) files[kubernetesOverlay] = `kubernetes: ${JSON.stringify(kubernetes)}\n`;
  let sent: SentRecipe = {
    recipe: await readRecipeFile(file),
    fileName: file,
    files,
    overlays: overlays.length > 0 ? overlays : undefined,
    lock,
    lockName: lock === undefined ? undefined : readFrom,
    provider: text(invocation, 'provider'),
    ...recipeLocation(invocation, file),
  };
  for (;;) {
    const read = [file, ...filesRead(sent), ...(lock === undefined ? [] : [readFrom])];
    const source = await readRecipeCommit(file, read);
    try {
      return await send({ ...sent, source }, lockFile);
    } catch (thrown) {
      const { files: wanted, inputs } = missingFiles(thrown);
      if (inputs.length > 0 && sent.sent === undefined) {
        const { sendFiles } = await import('./send-files.ts');
        const texts = [sent.recipe, ...Object.values(sent.files ?? {})].filter((text) => text !== null);
        const request = { paths: inputs, texts, opened: openFolders(invocation, file) };
        sent = { ...sent, sent: await sendFiles(invocation, request) };
        continue;
      }
      if (wanted.length === 0 || Object.keys(sent.files ?? {}).length > maxFiles) throw thrown;
      for (const path of wanted) {
        const text = await readExtended(path, sent, openFolders(invocation, file));
        sent = { ...sent, files: { ...sent.files, [path]: text } };
      }
    }
  }
}

/**
 * Returns where the files of a recipe are, for a daemon on this host: its directory, its Git work tree, and those that
 * the user opened. A work tree that is the home directory does not open all of it.
 */
export function recipeLocation(invocation: Invocation, file: string) {
  if (process.env.IMAGO_URL) return {};
  const [folder = '/', ...roots] = openFolders(invocation, file);
  return { folder, roots };
}

function openFolders(invocation: Invocation, file: string): readonly string[] {
  const folder = resolve(dirname(file));
  const tree = workTree(folder);
  const given = texts(invocation, 'files').map((path) => resolve(path));
  return [folder, ...(tree === undefined ? [] : [tree]), ...given];
}

function workTree(folder: string): string | undefined {
  if (folder === homedir() || folder === dirname(folder)) return undefined;
  return existsSync(join(folder, '.git')) ? folder : workTree(dirname(folder));
}

function filesRead({ files }: SentRecipe): readonly string[] {
  return Object.entries(files ?? {}).flatMap(([path, text]) =>
    text === null || path === kubernetesOverlay ? [] : [path],
  );
}

/** Returns the lock of `imago.yaml`, `imago.lock`, or with the overlay `debug.yaml`, `imago.debug.lock`. */
export function lockFileOf(file: string, overlays: readonly string[], kubernetes?: string): string {
  const stem = (path: string) => path.replace(/\.ya?ml$/i, '');
  const over = overlays.map((path) => `.${stem(basename(path))}`).join('');
  return `${stem(file)}${over}${kubernetes === undefined ? '' : `.kubernetes-${kubernetes}`}.lock`;
}

/**
 * Reads the lock. A recipe with an overlay that has no lock starts with that of the plain recipe, which contains all
 * versions of a matrix.
 */
async function readLock(
  file: string,
  lockFile: string,
  needsOwn: boolean,
): Promise<{ readonly lock: string | undefined; readonly readFrom: string }> {
  const own = await readIfPresent(lockFile);
  const plain = lockFileOf(file, []);
  if (own !== undefined || needsOwn || plain === lockFile) return { lock: own, readFrom: lockFile };
  return { lock: await readIfPresent(plain), readFrom: plain };
}

function missingFiles(thrown: unknown) {
  const { code, details } = ensureImagoError(thrown);
  const listed = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.filter((path) => typeof path === 'string') : [];
  if (code !== 'recipe-files-wanted') return { files: [], inputs: [] };
  return { files: listed(details?.files), inputs: listed(details?.inputs) };
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
    return (await readIfPresent(found)) ?? null;
  } catch (thrown) {
    if (ensureImagoError(thrown).code === 'file-missing') return null;
    throw thrown;
  }
}

export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unreadable(path, cause);
  }
}

async function readRecipeFile(file: string): Promise<string> {
  const found = await readIfPresent(file);
  if (found !== undefined) return found;
  throw new ImagoError('file-missing', `File ${file} not found.`, {
    hint: 'Pass the path of the recipe, or create one with `imago init`.',
  });
}

function unreadable(file: string, cause: unknown): ImagoError {
  return new ImagoError('file-missing', `Cannot read ${file}: ${(cause as Error).message}`, {
    hint: 'Check the path and its permissions.',
    cause,
  });
}
