// Reads a recipe from a request: its text, the files that it extends, its lock, and the directory of its local inputs.
// The daemon reads no recipe files, and reads local inputs only for callers on its own host, or those that were sent.
import { isAbsolute, resolve } from 'node:path';
import { localRefused } from '../../../build/inputs/local-files.ts';
import { readLockFile } from '../../../build/lock/lock-file.ts';
import { type LoadedRecipe, readRecipe as readRecipeFiles } from '../../../build/recipe/read-recipe.ts';
import { treeAt } from '../../../document/yaml-tree.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { kubernetesOverlay, type RecipeCommit } from '../../../domain/image/recipe-commit.ts';
import type { Lock } from '../../../domain/lock/lock.ts';
import type { Recipe } from '../../../domain/recipe/recipe.ts';
import { pathsToSend } from '../../../domain/recipe/sent-files.ts';

export interface SentRecipe {
  readonly recipe: string;
  readonly fileName?: string | undefined;
  readonly files?: Readonly<Record<string, string | null>> | undefined;
  readonly overlays?: readonly string[] | undefined;
  readonly folder?: string | undefined;
  readonly roots?: readonly string[] | undefined;
  /** Sha256 of the list of local inputs that a client on another host sent. */
  readonly sent?: string | undefined;
  readonly lock?: string | undefined;
  /** Name of the lock file. */
  readonly lockName?: string | undefined;
  readonly source?: RecipeCommit | undefined;
  /** Ignore the lock, which can be unreadable, and use the newest inputs. */
  readonly newest?: boolean | undefined;
}

export interface ReceivedRecipe extends Pick<LoadedRecipe, 'recipe' | 'tree'> {
  /**
   * One for each version of its matrix, with its lock. A version that is not in the lock file gets the lock of another,
   * because they have the same packages.
   */
  readonly variants: readonly { readonly recipe: Recipe; readonly lock?: Lock }[];
  /** The commit of the recipe. Dirty if a flag changed the recipe, instead of selecting a version of its matrix. */
  readonly source?: RecipeCommit;
}

/**
 * Throws `recipe-syntax`, `recipe-invalid`, or `lock-invalid` with all errors, `recipe-files-wanted` if another file or
 * local input is needed, and `recipe-local-input` if the caller is not allowed to name files of this host.
 */
export async function receiveRecipe(
  sent: SentRecipe,
  caller: { readonly local: boolean },
): Promise<ReceivedRecipe> {
  const { recipe, variants, tree } = await loadRecipe(sent);
  const [opened] = [sent.folder, ...(sent.roots ?? [])].filter((path) => path !== undefined);
  if (opened !== undefined && !caller.local) throw localRefused(opened);
  if (sent.folder === undefined) requireSent(variants.flatMap(pathsToSend), sent.sent);
  const locks =
    sent.lock === undefined || sent.newest === true
      ? []
      : readLockFile(sent.lock, sent.lockName ?? lockName(sent.fileName ?? 'recipe')).locks;
  const isOverridden = treeAt(tree, ['kubernetes']).origin.file === kubernetesOverlay;
  const { source } = sent;
  return {
    recipe,
    tree,
    ...(source && { source: { ...source, dirty: source.dirty || isOverridden } }),
    variants: variants.map((variant) => {
      const lock = locks.find((one) => one.recipe.kubernetes === variant.kubernetes) ?? locks[0];
      const { folder, roots = [] } = sent;
      const place =
        folder === undefined ? sent.sent && { sent: sent.sent } : { folder: resolve(folder), roots };
      const placed = { ...variant, ...place };
      return { recipe: placed, ...(lock === undefined ? {} : { lock }) };
    }),
  };
}

function requireSent(paths: readonly string[], sent: string | undefined): void {
  const absolute = paths.find((path) => isAbsolute(path));
  if (absolute !== undefined) throw localRefused(absolute);
  if (sent !== undefined || paths.length === 0) return;
  const inputs = [...new Set(paths)];
  const more = inputs.length === 1 ? '' : ` and ${inputs.length - 1} more`;
  throw new ImagoError('recipe-files-wanted', `The recipe needs ${inputs[0]}${more}.`, {
    details: { inputs },
  });
}

/** Composes and validates the recipe. */
export async function loadRecipe(sent: SentRecipe): Promise<LoadedRecipe> {
  const file = sent.fileName ?? 'recipe';
  const files = { read: async (path: string) => (path === file ? sent.recipe : otherFile(sent, path)) };
  return readRecipeFiles({ file, files, overlays: sent.overlays ?? [] });
}

/** Returns `imago.lock` for `imago.yaml`. */
function lockName(file: string): string {
  return `${file.replace(/\.ya?ml$/i, '')}.lock`;
}

function otherFile({ files }: SentRecipe, path: string): string | undefined {
  if (files === undefined) return undefined;
  if (Object.hasOwn(files, path)) return files[path] ?? undefined;
  throw new ImagoError('recipe-files-wanted', `The recipe needs the file ${path}.`, {
    details: { files: [path] },
  });
}
