// The lock: a recipe with every input resolved to exact version, sha256, size and source. Its digest is that of
// `lockText`: same content, same text, whatever order things were found in.
import { canonicalJson } from './canonical-json.ts';
import { ImagoError } from './errors.ts';
import type { ComponentKind, Recipe } from './recipe.ts';

export interface LockedInput {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly version: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly source: string;
}

export interface Lock {
  /** Raised when the meaning of a lock changes, so that old locks are told apart. */
  readonly format: 1;
  readonly recipe: Recipe;
  /** In the order of kind, name and version; with the dependencies that the recipe does not name. */
  readonly inputs: readonly LockedInput[];
}

/** Throws `recipe-invalid` when a component has no input, or an input is not exact or is given twice. */
export function makeLock(recipe: Recipe, found: readonly LockedInput[]): Lock {
  const inputs = [...found].sort((a, b) => (inputKey(a) < inputKey(b) ? -1 : 1));
  const keys = new Set<string>();
  for (const input of inputs) {
    if (keys.has(inputKey(input))) throw unlocked(`${describe(input)} was resolved twice.`);
    if (!/^[0-9a-f]{64}$/.test(input.sha256)) throw unlocked(`${describe(input)} has no sha256.`);
    if (!Number.isSafeInteger(input.sizeBytes) || input.sizeBytes < 0) {
      throw unlocked(`${describe(input)} has no size.`);
    }
    keys.add(inputKey(input));
  }
  for (const component of recipe.components) {
    const input = inputs.find((candidate) => inputKey(candidate) === inputKey(component));
    if (input === undefined) throw unlocked(`${describe(component)} was not resolved.`);
    if (component.sha256 !== undefined && component.sha256 !== input.sha256) {
      throw unlocked(
        `${describe(component)} has the sha256 ${input.sha256}, and the recipe says ${component.sha256}.`,
      );
    }
  }
  return { format: 1, recipe, inputs };
}

/** What the lock's digest is computed over. */
export function lockText(lock: Lock): string {
  return canonicalJson({
    format: lock.format,
    recipe: { ...lock.recipe, components: lock.recipe.components.map((component) => ({ ...component })) },
    inputs: lock.inputs.map((input) => ({ ...input })),
  });
}

type Named = Pick<LockedInput, 'kind' | 'name' | 'version'>;

function inputKey({ kind, name, version }: Named): string {
  return JSON.stringify([kind, name, version]);
}

function describe({ kind, name, version }: Named): string {
  return `The ${kind} ${name} ${version}`;
}

function unlocked(message: string): ImagoError {
  return new ImagoError('recipe-invalid', message);
}
