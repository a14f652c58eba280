// Which commit a recipe is at, asked of git where the recipe lies. No git, no work tree and a recipe that was never
// committed are all no answer: a build needs none of it.
import { execFile } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { commitPattern, type RecipeCommit } from '../../domain/image/recipe-commit.ts';

const timeoutMs = 10_000;
const mostOutput = 16 * 1024 * 1024;

/**
 * `files` are the recipe and whatever was read with it. It is dirty when one of them is not committed, or when anything
 * that git knows in the recipe's folder was changed: local inputs lie there.
 */
export async function readRecipeCommit(
  recipe: string,
  files: readonly string[] = [recipe],
): Promise<RecipeCommit | undefined> {
  const folder = resolve(dirname(recipe));
  const git = (...words: string[]) => runGit(folder, words);
  const commit = (await git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}'))?.trim();
  if (commit === undefined || !commitPattern.test(commit)) return undefined;
  const known = await git('ls-tree', '--name-only', 'HEAD', '--', resolve(recipe));
  if (known === undefined || known === '') return undefined;
  const paths = [folder, ...files.map((file) => resolve(file))];
  const [changed, strange] = await Promise.all([
    git('status', '--porcelain', '--untracked-files=no', '--', ...paths),
    git('ls-files', '--others', '--', ...paths.slice(1)),
  ]);
  return { commit, dirty: changed !== '' || strange !== '' };
}

/** `undefined` for any failure. Nothing of the work tree's own configuration is run, and no lock is taken. */
function runGit(cwd: string, words: readonly string[]): Promise<string | undefined> {
  const options = {
    cwd,
    timeout: timeoutMs,
    maxBuffer: mostOutput,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
  };
  const safely = ['-c', 'core.fsmonitor=false', '--literal-pathspecs'];
  return new Promise((settle) => {
    execFile('git', [...safely, ...words], options, (error, stdout) => {
      settle(error === null ? stdout : undefined);
    });
  });
}
