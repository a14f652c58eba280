// Puts a recipe together: what it extends below it, overlays above it, every value with its file and line.
import { posix } from 'node:path';
import { type MapTree, type Origin, parseYamlTree, type Tree } from '../../document/yaml-tree.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { isLocal, isPathField, localPathProblem } from '../../domain/recipe/local-path.ts';
import { mergeTrees } from './merge-trees.ts';
import { relativePath } from './relative-path.ts';

/** Where the files of a recipe come from: a folder, or what a client sent along. */
export interface RecipeFiles {
  /** The text of a file by its path, as written or joined to that of the file that names it. */
  read(path: string): Promise<string | undefined>;
}

export interface ComposeOptions {
  readonly file: string;
  /** Laid over the recipe, the last one on top. */
  readonly overlays?: readonly string[];
  readonly files: RecipeFiles;
}

/** Maps whose keys are names that people choose. */
const openMaps = new Set(['sysctl', 'limits', 'sha256']);

export async function composeRecipe(options: ComposeOptions): Promise<Tree> {
  const home = posix.dirname(options.file);
  let tree = await load(options.file, undefined, []);
  for (const overlay of options.overlays ?? []) {
    const above = await load(overlay, undefined, []);
    tree = chooseVersion(tree, above, mergeTrees(tree, above));
  }
  return tree;

  async function load(file: string, named: Origin | undefined, chain: readonly string[]): Promise<Tree> {
    if (chain.includes(file)) throw circle(named, [...chain, file]);
    const text = await options.files.read(file);
    if (text === undefined) throw missing(file, named);
    const own = rebase(parseYamlTree(text, file), posix.dirname(file), home);
    if (own.kind !== 'map') return own;
    const { below, rest } = takeExtends(own);
    let result: Tree | undefined;
    for (const name of below) {
      const loaded = await load(besides(file, name.path), name.origin, [...chain, file]);
      result = result === undefined ? loaded : mergeTrees(result, loaded);
    }
    return result === undefined ? rest : mergeTrees(result, rest);
  }
}

interface Extended {
  readonly path: string;
  readonly origin: Origin;
}

/** What a file extends, and the rest of it. What is not text stays, for the schema to complain about. */
function takeExtends(tree: Tree & { kind: 'map' }): { below: readonly Extended[]; rest: Tree } {
  const found = tree.entries.get('extends');
  if (found === undefined) return { below: [], rest: tree };
  const items = found.kind === 'list' ? found.items : [found];
  const below = items.flatMap((item) =>
    item.kind === 'value' && typeof item.value === 'string' && item.value !== ''
      ? [{ path: item.value, origin: item.origin }]
      : [],
  );
  if (below.length < items.length) return { below: [], rest: tree };
  const entries = new Map(tree.entries);
  entries.delete('extends');
  return { below, rest: { ...tree, entries } };
}

/** Local paths in a file of another folder, as seen from the recipe's own. */
function rebase(tree: Tree, folder: string, home: string): Tree {
  if (folder === home) return tree;
  if (tree.kind === 'list') return { ...tree, items: tree.items.map((item) => rebase(item, folder, home)) };
  if (tree.kind !== 'map') return tree;
  const entries = new Map<string, Tree>();
  for (const [key, value] of tree.entries) {
    const isPath =
      isPathField(key) &&
      value.kind === 'value' &&
      typeof value.value === 'string' &&
      isRelative(value.value);
    if (isPath) entries.set(key, { ...value, value: seenFrom(home, folder, value) });
    else entries.set(key, openMaps.has(key) ? value : rebase(value, folder, home));
  }
  return { ...tree, entries };
}

function seenFrom(home: string, folder: string, { value, origin }: Tree & { kind: 'value' }): string {
  const found = relativePath(home, posix.join(folder, String(value)));
  if (found !== undefined) return found;
  throw new ImagoError(
    'recipe-invalid',
    `${where(origin)}${value} cannot be written relative to the recipe's folder ${home}`,
    { hint: `Name ${origin.file} by its absolute path, or run this in the recipe's folder.` },
  );
}

function isRelative(text: string): boolean {
  return isLocal(text) && localPathProblem(text) === undefined && !posix.isAbsolute(text);
}

/** A path that a file names, as seen from where the file's own path begins. */
function besides(file: string, path: string): string {
  return posix.isAbsolute(path) ? path : posix.join(posix.dirname(file), path);
}

function circle(named: Origin | undefined, chain: readonly string[]): ImagoError {
  return new ImagoError(
    'recipe-invalid',
    `${where(named)}the recipes extend each other in a circle: ${chain.join(' → ')}`,
    { hint: 'Take one of these out of `extends`.', details: { chain } },
  );
}

function missing(file: string, named: Origin | undefined): ImagoError {
  if (named === undefined) {
    return new ImagoError('file-missing', `There is no file ${file}.`, {
      hint: 'Name the recipe, or make a first one with `imago init`.',
    });
  }
  return new ImagoError('recipe-invalid', `${where(named)}there is no file ${file} to extend`);
}

function where(origin: Origin | undefined): string {
  return origin === undefined ? '' : `${origin.file}:${origin.line}:${origin.column}: `;
}

/** `merged` is `above` laid over `below`. Throws `recipe-invalid` for a version that the matrix does not have. */
function chooseVersion(below: Tree, above: Tree, merged: Tree): Tree {
  if (below.kind !== 'map' || above.kind !== 'map' || merged.kind !== 'map') return merged;
  const wanted = above.entries.get('kubernetes');
  const versions = versionsIn(below);
  if (wanted?.kind !== 'value' || versions === undefined) return merged;
  if (below.entries.has('kubernetes') || above.entries.has('matrix')) return merged;
  const chosen = versions.find((version) => textOf(version) === textOf(wanted));
  if (chosen === undefined) throw notThere(wanted, versions);
  const entries = new Map(merged.entries);
  entries.delete('matrix');
  entries.set('kubernetes', chosen);
  return { ...merged, entries };
}

/** `undefined` without a matrix, or with one that the schema will complain about. */
function versionsIn({ entries }: MapTree): readonly Tree[] | undefined {
  const matrix = entries.get('matrix');
  const list = matrix?.kind === 'map' ? matrix.entries.get('kubernetes') : undefined;
  return list?.kind === 'list' ? list.items : undefined;
}

function textOf(tree: Tree): string | undefined {
  return tree.kind === 'value' ? String(tree.value) : undefined;
}

function notThere(wanted: Tree, versions: readonly Tree[]): ImagoError {
  const { file, line, column } = wanted.origin;
  return new ImagoError(
    'recipe-invalid',
    `${file}:${line}:${column}: Kubernetes ${textOf(wanted)} is not in the matrix of the recipe`,
    {
      hint: `It has ${versions.map(textOf).join(', ')}. Name one of them, or add the version to \`matrix.kubernetes\`.`,
    },
  );
}
