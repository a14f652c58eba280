// The recipe: what is on a node, in one place. Here is its checked form, which its schema gives: shorthand written out,
// sizes in bytes, nothing filled in that the author left out, so that a new default does not change old recipes.
import type { SourceKind } from './installer-names.ts';
import type { recipeSchema } from './schema.ts';

/** Read-only through and through; an optional field is absent, never `undefined`. */
type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<Exclude<T[Key], undefined>> }
    : T;

export type Recipe = DeepReadonly<
  Omit<(typeof recipeSchema)['_output'], '$schema' | 'extends'> & {
    /** Where relative paths start, on the host that reads the files. Without it, no file can be read. Not part of a lock. */
    folder?: string | undefined;
    /** Further directories that its files can be in. Not part of a lock. */
    roots?: string[] | undefined;
    /** In place of `folder`: the sha256 of the list of files that a client on another host sent. Not part of a lock. */
    sent?: string | undefined;
  }
>;

/** An item of one of the recipe's lists. */
type ItemOf<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never;

export type BuildMethod = NonNullable<Recipe['method']>;
export type BootFirmware = ItemOf<Recipe['firmware']>;
export type RecipePackage = ItemOf<Recipe['packages']>;
export type RecipeComponent = ItemOf<Recipe['components']>;
export type ComponentSource = NonNullable<RecipeComponent['from']>;
export type RecipeImage = ItemOf<Recipe['images']>;
export type RecipeTest = ItemOf<Recipe['tests']>;
export type RecipeBudgets = NonNullable<Recipe['budgets']>;
export type RecipeExpect = NonNullable<Recipe['expect']>;
export type RecipeSettings = Recipe['settings'];
export type UnitSetting = ItemOf<RecipeSettings['units']>;
export type RecipeWindows = NonNullable<Recipe['windows']>;
export type WindowsPatch = ItemOf<RecipeWindows['patches']>;

/** Returns the recipe without what only one host knows. */
export function withoutPlace({ folder: _, roots: __, sent: ___, ...written }: Recipe): Recipe {
  return written;
}

/** Where a component comes from, with what is left out filled in. */
export function sourceOf(component: Pick<RecipeComponent, 'name' | 'from'>): ComponentSource {
  return component.from ?? { package: component.name };
}

export function sourceKind(source: ComponentSource): SourceKind {
  if ('package' in source) return 'package';
  if ('url' in source) return 'url';
  if ('file' in source) return 'file';
  if ('folder' in source) return 'folder';
  return 'tar' in source ? 'tar' : 'oci';
}

/** What the locked input of a component is called. */
export function componentKind(component: Pick<RecipeComponent, 'name' | 'from'>): ComponentKind {
  const kind = sourceKind(sourceOf(component));
  if (kind === 'package') return 'package';
  return kind === 'url' || kind === 'file' ? 'binary' : 'files';
}

export const componentKinds = ['package', 'binary', 'files', 'container-image'] as const;
export type ComponentKind = (typeof componentKinds)[number];

/** All versions of a component, the first being the one that it begins with. */
export function versionsOf({ version, versions }: RecipeComponent): readonly string[] {
  if (versions !== undefined) return versions;
  return version === undefined ? [] : [version];
}

/** Files beside the recipe whose text a component brings: of its unit and its configuration. */
export function componentTexts({ unit, config = [] }: RecipeComponent): readonly string[] {
  return [unit, ...config].flatMap((text) => (text?.file === undefined ? [] : [text.file]));
}

/** Whether a version made of it may reach only named pools (private inputs). */
export function isRestricted(recipe: Recipe): boolean {
  return [...recipe.components, ...(recipe.images ?? []), ...(recipe.windows?.patches ?? [])].some(
    (input) => input.private === true,
  );
}
