// An overlay that names one Kubernetes version over a recipe with a matrix chooses from it: the recipe then has that
// version alone, and is otherwise what it was.

import type { MapTree, Tree } from '../../document/yaml-tree.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';

/** `merged` is `above` laid over `below`. Throws `recipe-invalid` for a version that the matrix does not have. */
export function chooseVersion(below: Tree, above: Tree, merged: Tree): Tree {
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
