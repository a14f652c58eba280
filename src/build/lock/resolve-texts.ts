// The texts that a recipe names by their file: units, configuration, trust anchors, scripts. They are inputs like
// all others, so that a lock says everything that is on the disk.
import type { LockedInput } from '../../domain/lock.ts';
import type { Recipe } from '../../domain/recipe.ts';
import type { LockContext } from './lock-context.ts';
import { takeFile } from './resolve-component.ts';

/** The files, each once. */
export function namedTexts(recipe: Recipe): readonly string[] {
  const { settings } = recipe;
  const texts = [
    ...recipe.components.flatMap(({ unit, config = [] }) => [unit, ...config]),
    ...(settings.units ?? []),
    ...(settings.files ?? []),
    ...(settings.trust ?? []),
    ...(recipe.steps ?? []),
  ];
  const files = texts.flatMap((text) => (text?.file === undefined ? [] : [text.file]));
  return [...new Set(files)];
}

export async function resolveTexts(recipe: Recipe, context: LockContext): Promise<readonly LockedInput[]> {
  const inputs: LockedInput[] = [];
  for (const path of namedTexts(recipe)) {
    const stored = await takeFile({ label: `The file ${path}`, expected: undefined, context, path });
    inputs.push({
      ...{ kind: 'config', name: path, version: stored.sha256.slice(0, 12) },
      ...{ sha256: stored.sha256, sizeBytes: stored.sizeBytes, source: `file:${path}` },
    });
  }
  return inputs;
}
