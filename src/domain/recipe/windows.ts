// What a Windows recipe says beyond components and container images, and the order of its patches.
import { ImagoError } from '../error/imago-error.ts';

export type RecipeWindows = {
  readonly features?: readonly string[];
  readonly patches?: readonly WindowsPatch[];
  readonly registry?: readonly RegistrySetting[];
  readonly services?: readonly WindowsService[];
};

export const patchClasses = ['B', 'C', 'out-of-band'] as const;
/** `B` is the monthly update, `C` its preview, `out-of-band` what could not wait. */
export type PatchClass = (typeof patchClasses)[number];

export type WindowsPatch = {
  /** As in `KB5031364`. */
  readonly kb: string;
  readonly class: PatchClass;
  readonly url?: string;
  readonly file?: string;
  readonly sha256?: string;
  /** Patches that must be on the system before it. */
  readonly prerequisites?: readonly string[];
  readonly private?: true;
};

export const registryTypes = ['string', 'expand-string', 'multi-string', 'dword', 'qword', 'binary'] as const;
export type RegistryType = (typeof registryTypes)[number];

export type RegistrySetting = {
  readonly path: string;
  readonly name: string;
  readonly type: RegistryType;
  readonly value: string | number | readonly string[];
};

export type WindowsService = {
  readonly name: string;
  readonly start: 'automatic' | 'manual' | 'disabled';
};

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
