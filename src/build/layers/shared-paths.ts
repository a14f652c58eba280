// Components that bring whole trees share folders, and must not share files: the later one would replace what the
// earlier one contains silently. Checked here, where the content of each is known.

import { openFileSource } from '../../disk/bytes/byte-source.ts';
import type { TarEntry } from '../../disk/tar/entry.ts';
import { sourceInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { RecipeComponent } from '../../domain/recipe/recipe.ts';
import { mergedUsr, ownPaths } from '../../domain/recipe/reserved-paths.ts';
import { receiptPath } from '../../install/receipt.ts';
import { ownLayerRules } from './own-layers.ts';

export interface ComponentLayer {
  readonly component: RecipeComponent;
  /** The layer's archive. */
  readonly path: string;
}

interface Brought {
  readonly component: RecipeComponent;
  readonly entry: TarEntry;
}

/**
 * Throws `recipe-invalid` with both names when two components bring one file, or one of them what Imago writes or
 * one of the `files` of the settings. Folders may be brought by many, and so may links that lead to the same place.
 */
export async function refuseSharedPaths(
  layers: readonly ComponentLayer[],
  files: readonly string[] = [],
  signal?: AbortSignal,
): Promise<void> {
  const written = new Set(files.map((path) => placeOf(path.replace(/^\/+/, ''))));
  const brought = new Map<string, Brought>();
  for (const { component, path } of layers) {
    const source = await openFileSource(path);
    try {
      for await (const { entry } of readTar(sourceInput(source), ownLayerRules)) {
        signal?.throwIfAborted();
        const place = placeOf(entry.path);
        refuseOwn(component, entry, place);
        if (entry.type !== 'directory' && written.has(place)) throw overwritten(component, place);
        const other = brought.get(place);
        if (other === undefined) brought.set(place, { component, entry });
        else if (other.component !== component && !agree(other.entry, entry))
          throw shared(other.component, component, place);
      }
    } finally {
      await source.close();
    }
  }
}

function refuseOwn(component: RecipeComponent, { type }: TarEntry, place: string): void {
  if (type === 'directory' || place === receiptPath(component.name)) return;
  const own = ownPaths.find(({ path }) => place === path || place.startsWith(`${path}/`));
  if (own === undefined) return;
  throw new ImagoError('recipe-invalid', `${nameOf(component)} brings ${place}, where ${own.owner} is.`, {
    hint,
  });
}

const hint = 'Give it another place by `to`, or choose by `only` what is taken out of an archive.';

function shared(first: RecipeComponent, second: RecipeComponent, place: string): ImagoError {
  return new ImagoError('recipe-invalid', `${nameOf(first)} and ${nameOf(second)} both bring ${place}.`, {
    hint,
  });
}

function overwritten(component: RecipeComponent, place: string): ImagoError {
  return new ImagoError(
    'recipe-invalid',
    `settings.files: the file ${place} would replace a file of ${nameOf(component)}.`,
    { hint },
  );
}

function nameOf({ name, private: hidden }: RecipeComponent): string {
  return hidden === true ? 'a private component' : name;
}

function agree(a: TarEntry, b: TarEntry): boolean {
  if (a.type !== b.type) return false;
  return a.type === 'directory' || (a.type === 'symlink' && a.link === b.link);
}

function placeOf(path: string): string {
  return `/${mergedUsr(path.split('/')).join('/')}`;
}
