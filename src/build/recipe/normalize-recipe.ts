// From what people write to the domain's recipe: shorthand written out, fields that were left out not there.
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { WrittenRecipe } from '../../domain/recipe/schema.ts';

type Named = { readonly name: string };

export function normaliseRecipe(written: WrittenRecipe): Recipe {
  const { $schema: _, extends: __, disk, budgets, base, settings, ...rest } = written;
  const recipe = {
    ...rest,
    ...(base && { base: { ...base, packages: base.packages?.map(named) } }),
    ...(disk && { disk: { sizeBytes: disk.size } }),
    packages: rest.packages?.map(named),
    images: rest.images?.map(named),
    settings: { ...settings, modules: settings.modules?.map(named) },
    steps: rest.steps?.map(timed),
    tests: rest.tests?.map(timed),
    ...(budgets && { budgets: { sizeBytes: budgets.size, bootToReadyMs: budgets.bootToReady } }),
  };
  return withoutGaps(recipe) as Recipe;
}

function named<T extends Named>(item: string | T): Named | T {
  return typeof item === 'string' ? { name: item } : item;
}

function timed<T extends { readonly timeout?: number | undefined }>({ timeout, ...rest }: T) {
  return { ...rest, timeoutMs: timeout };
}

/** JSON has no undefined: what is absent is not there at all. */
function withoutGaps(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
