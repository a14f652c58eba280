// The texts that a recipe names by their file: units, configuration, trust anchors, scripts. They are inputs like
// all others, so that a lock says everything that is on the disk.
import { describeInput, type LockedInput } from '../../domain/lock/lock.ts';
import { componentTexts, type Recipe } from '../../domain/recipe/recipe.ts';
import type { LockContext } from './context.ts';
import { takeFile } from './resolve-component.ts';

/** The files, each once. */
function namedTexts(recipe: Recipe): readonly string[] {
  const { settings } = recipe;
  const texts = [
    ...(settings.units ?? []),
    ...(settings.files ?? []),
    ...(settings.trust ?? []),
    ...(recipe.steps ?? []),
  ];
  const files = texts.flatMap(({ file }) => file ?? []);
  return [...new Set([...recipe.components.flatMap(componentTexts), ...files])];
}

/** A file of a private component is private, even if others name it too. */
export async function resolveTexts(recipe: Recipe, context: LockContext): Promise<readonly LockedInput[]> {
  const hidden = recipe.components.filter((component) => component.private === true).flatMap(componentTexts);
  const inputs: LockedInput[] = [];
  for (const path of namedTexts(recipe)) {
    const secret = hidden.includes(path) ? { private: true as const } : {};
    const label = hidden.includes(path)
      ? describeInput({ kind: 'config', name: path, version: '', ...secret })
      : `The file ${path}`;
    const stored = await takeFile({ label, expected: undefined, context, path });
    inputs.push({
      ...{ kind: 'config', name: path, version: stored.sha256.slice(0, 12) },
      ...{ sha256: stored.sha256, sizeBytes: stored.sizeBytes, source: `file:${path}`, ...secret },
    });
  }
  return inputs;
}
