// Finds the Git commit of a recipe. A missing git, a missing work tree, and a recipe that was never committed are not
// errors: a build needs none of it.
import { execFile } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { commitPattern, type RecipeCommit } from '../../domain/image/recipe-commit.ts';

const timeoutMs = 10_000;
const maxOutput = 16 * 1024 * 1024;

/**
 * Returns the commit, or `undefined`. `files` are the recipe and the files read with it. It is dirty if one of them is not
 * committed, or if any tracked file in the recipe's directory was changed: local inputs are there.
 */
export async function readRecipeCommit(
  recipe: string,
  files: readonly string[] = [recipe],
): Promise<RecipeCommit | undefined> {
  const folder = resolve(dirname(recipe));
  const closed = await closedFilters(folder);
  const git = (...words: string[]) => runGit(folder, words, closed);
  const commit = (await git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}'))?.trim();
  if (commit === undefined || !commitPattern.test(commit)) return undefined;
  const known = await git('ls-tree', '--name-only', 'HEAD', '--', resolve(recipe));
  if (known === undefined || known === '') return undefined;
  const paths = [folder, ...files.map((file) => resolve(file))];
  const [changed, strange] = await Promise.all([
    git('status', '--porcelain', '--untracked-files=no', '--ignore-submodules=dirty', '--', ...paths),
    git('ls-files', '--others', '--', ...paths.slice(1)),
  ]);
  return { commit, dirty: changed !== '' || strange !== '' };
}

/**
 * Returns settings that empty every filter of the configuration. The work tree can come from an archive that others made,
 * and git runs its filters to compare files. A file that only a filter makes equal is reported as changed.
 */
async function closedFilters(folder: string): Promise<Settings> {
  const names = await runGit(folder, ['config', '--null', '--name-only', '--get-regexp', '^filter\\.']);
  const filters = (names ?? '').split('\0').filter((name) => name !== '');
  return filters.map((name) => [name, name.endsWith('.required') ? 'false' : '']);
}

type Settings = readonly (readonly [name: string, value: string])[];

/**
 * Returns `undefined` for any failure. Runs no command of the work tree's configuration: no monitor, no hook, and no
 * transport that would fetch missing objects. Takes no lock.
 */
function runGit(cwd: string, words: readonly string[], closed: Settings = []): Promise<string | undefined> {
  const first = Number(process.env.GIT_CONFIG_COUNT ?? 0);
  const settings: Settings = [['core.fsmonitor', 'false'], ['core.hooksPath', '/dev/null'], ...closed];
  const config = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, name],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  const options = {
    cwd,
    timeout: timeoutMs,
    maxBuffer: maxOutput,
    env: {
      ...process.env,
      ...{ GIT_OPTIONAL_LOCKS: '0', GIT_ALLOW_PROTOCOL: 'none', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' },
      ...Object.fromEntries(config),
      GIT_CONFIG_COUNT: String(first + settings.length),
    },
  };
  return new Promise((settle) => {
    execFile('git', ['--literal-pathspecs', ...words], options, (error, stdout) => {
      settle(error === null ? stdout : undefined);
    });
  });
}
