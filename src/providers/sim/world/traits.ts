// What a simulated disk carries from its recipe into every version, machine and node that is made from it, so
// that a broken image behaves broken wherever it goes.
import type { RecipeWindows } from '../../../domain/recipe/recipe.ts';
import type { Json } from '../../../domain/value/json.ts';
import { type WindowsGuest, windowsGuest } from './windows-state.ts';

export const breakKinds = ['build', 'boot', 'agent', 'sometimes', 'slow'] as const;

/**
 * Ordered in a recipe by `settings.sim.breaks`: the build fails; machines never come up; the agent reports a
 * failure; one machine in three reports a failure; everything takes 20 times as long after power on.
 */
export type BreakKind = (typeof breakKinds)[number];

export interface Traits {
  readonly breaks?: BreakKind;
  readonly kubernetes?: string;
  /** The jobs that ran on it, in their order: what a build on a machine leaves there. */
  readonly ran?: readonly string[];
  /** What is on the disk of a Windows. */
  readonly guest?: WindowsGuest;
}

/** Reads traits from a lock, or from the recipe in it; ignores unknown values. */
export function traitsOf(lock: Json): Traits {
  const breaks =
    textAt(lock, 'settings', 'sim', 'breaks') ?? textAt(lock, 'recipe', 'settings', 'sim', 'breaks');
  const kubernetes = textAt(lock, 'kubernetes') ?? textAt(lock, 'recipe', 'kubernetes');
  const known = breakKinds.find((kind) => kind === breaks);
  return {
    ...(known === undefined ? {} : { breaks: known }),
    ...(kubernetes === undefined ? {} : { kubernetes }),
    ...(textAt(lock, 'recipe', 'os') === 'windows' && { guest: guestOf(lock) }),
  };
}

function guestOf(lock: Json): WindowsGuest {
  const windows = valueAt(lock, 'recipe', 'windows') as RecipeWindows | undefined;
  const habits = valueAt(lock, 'recipe', 'settings', 'sim', 'guest');
  return windowsGuest(windows ?? {}, Array.isArray(habits) ? habits.map(String) : []);
}

export function readTraits(text: string): Traits {
  return JSON.parse(text) as Traits;
}

export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const key of path) {
    if (!isObject(found)) return undefined;
    found = found[key];
  }
  return found;
}

export function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function isObject(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
