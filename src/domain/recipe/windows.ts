// The order of the patches of a Windows recipe.
import { ImagoError } from '../error/imago-error.ts';
import type { WindowsPatch } from './recipe.ts';

/** A prerequisite that is not in the list, or the patches of a circle; `undefined` when there is an order. */
export function patchProblem(patches: readonly WindowsPatch[]): string | undefined {
  const known = new Set(patches.map(({ kb }) => kb));
  for (const { kb, prerequisites = [] } of patches) {
    const missing = prerequisites.find((name) => !known.has(name));
    if (missing !== undefined) return `${kb} needs ${missing}, which is not among the patches`;
  }
  const { stuck } = sortPatches(patches);
  if (stuck.length === 0) return undefined;
  return `${stuck.map(({ kb }) => kb).join(', ')} need each other, directly or not`;
}

/** The patches in the order in which they go on: each after its prerequisites, else as they are written. */
export function orderPatches(patches: readonly WindowsPatch[]): readonly WindowsPatch[] {
  const problem = patchProblem(patches);
  if (problem !== undefined) throw new ImagoError('recipe-invalid', `${problem}.`);
  return sortPatches(patches).sorted;
}

function sortPatches(patches: readonly WindowsPatch[]) {
  const sorted: WindowsPatch[] = [];
  const done = new Set<string>();
  let left = patches;
  for (;;) {
    const next = left.find(({ prerequisites = [] }) => prerequisites.every((name) => done.has(name)));
    if (next === undefined) return { sorted, stuck: left };
    sorted.push(next);
    done.add(next.kb);
    left = left.filter((patch) => patch !== next);
  }
}
