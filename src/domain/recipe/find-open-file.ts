// The rule by which a recipe reads files of a host: only in directories that the user opened, links included. The
// daemon follows it for local inputs, clients follow it for the files that a recipe extends.
import { ImagoError } from '../error/imago-error.ts';

export interface OpenFileRequest {
  /** The path as it is written. */
  readonly path: string;
  /** The same as an absolute path, without `..`. */
  readonly wanted: string;
  /** Absolute paths of directories. */
  readonly opened: readonly string[];
  /** Resolves symbolic links. Rejects if nothing is there. */
  realpath(path: string): Promise<string>;
}

/** Returns the path without symbolic links. Throws `recipe-path-outside` or `file-missing`, the latter only inside. */
export async function findOpenFile({ path, wanted, opened, realpath }: OpenFileRequest): Promise<string> {
  const real = (one: string) => realpath(one).catch(() => undefined);
  const [found, ...roots] = await Promise.all([wanted, ...opened].map(real));
  if (found !== undefined && roots.some((root) => root !== undefined && contains(root, found))) return found;
  if (found === undefined && opened.some((root) => contains(root, wanted))) {
    throw new ImagoError('file-missing', `There is no file ${path}.`, {
      hint: 'Paths start at the directory of the recipe.',
    });
  }
  throw new ImagoError(
    'recipe-path-outside',
    `${path} is outside of the directories that the recipe can read.`,
  );
}

function contains(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`);
}
