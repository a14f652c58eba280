// The only place where a path of a recipe or a lock becomes a path of this host. A path can neither leave the
// directories that the caller opened for the recipe nor follow a symbolic link out of them.
import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { findOpenFile } from '../../domain/recipe/find-open-file.ts';
import { localPathProblem } from '../../domain/recipe/local-path.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { openSentFolder } from './sent-files.ts';

export interface LocalFiles {
  /**
   * Returns the absolute path without symbolic links. Throws `recipe-local-input` if no directory is open,
   * `recipe-path-outside` if the path leaves those that are, and `file-missing` if nothing is there.
   */
  find(path: string): Promise<string>;
}

/**
 * Relative paths start at `folder`, or in the directory that was `sent` to the cache. Without one, no path can be read. All
 * directories are absolute paths.
 */
export function localFiles(
  { sent, ...place }: Pick<Recipe, 'folder' | 'roots' | 'sent'>,
  cacheFolder?: string,
): LocalFiles {
  return {
    async find(path) {
      const problem = localPathProblem(path);
      if (problem !== undefined) throw new ImagoError('recipe-invalid', `${problem}.`);
      const isSent = sent !== undefined && cacheFolder !== undefined;
      const { folder, roots = [] } = isSent ? await openSentFolder(cacheFolder, sent) : place;
      if (folder === undefined) throw localRefused(path);
      const opened = [folder, ...roots];
      const relative = opened.find((root) => !isAbsolute(root));
      if (relative !== undefined) {
        throw new ImagoError('recipe-invalid', `${relative} is not the absolute path of a directory.`);
      }
      const wanted = resolve(folder, path);
      return findOpenFile({ path, wanted, opened: opened.map((root) => resolve(root)), realpath });
    },
  };
}

export function localRefused(path: string): ImagoError {
  return new ImagoError('recipe-local-input', `${path} is a path of the daemon's host.`);
}
