// A file that the recipe writes over one of a component's tree would replace it silently. Trees are looked
// into when they are locked, and only where something else of the recipe lies below them.
import { createReadStream } from 'node:fs';
import type { TarEntry } from '../../disk/tar/entry.ts';
import { streamInput } from '../../disk/tar/input.ts';
import { readTar } from '../../disk/tar/reader.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { componentInputs, type LockedInput } from '../../domain/lock/lock.ts';
import { isLocal } from '../../domain/recipe/local-path.ts';
import { componentPlaces, type RecipePlace, recipePlaces } from '../../domain/recipe/places.ts';
import { type Recipe, type RecipeComponent, sourceOf } from '../../domain/recipe/recipe.ts';
import { mergedUsr } from '../../domain/recipe/reserved-paths.ts';
import { substitute } from '../../domain/recipe/variables.ts';
import { archiveRules } from '../inputs/archive-rules.ts';
import { folderArchive } from '../inputs/folder-archive.ts';
import { unpack } from '../inputs/unpack.ts';
import type { LockContext } from './context.ts';
import { buildEpoch } from './rules.ts';

/**
 * Throws `recipe-invalid` with both places. Archives that are neither here nor in the cache are skipped: the
 * build looks again.
 */
export async function refuseCoveredFiles(
  recipe: Recipe,
  inputs: readonly LockedInput[],
  context: LockContext,
): Promise<void> {
  if (recipe.os !== 'linux') return;
  const files = recipePlaces(recipe).filter(({ kind }) => kind === 'file');
  for (const [index, component] of recipe.components.entries()) {
    for (const { version, path: to } of componentPlaces(component)) {
      const below = files.filter(
        ({ path, at }) => keyOf(path).startsWith(`${keyOf(to)}/`) && !isOf(at, index),
      );
      if (below.length === 0) continue;
      const input = componentInputs(component, inputs).find((one) => one.version === version)?.input;
      const content = await openTree(component, version, input, context);
      if (content === undefined) continue;
      const where = `components.${index}.to: ${to}`;
      for await (const entry of treeEntries(component, content, context.signal)) {
        const covered = below.find(({ path }) => covers(entry, keyOf(`${to}/${entry.path}`), keyOf(path)));
        if (covered !== undefined) throw coveredFile(covered, component, where);
      }
    }
  }
}

/** A component may put its own configuration in place of what its tree brings. */
function isOf([part, number]: RecipePlace['at'], index: number): boolean {
  return part === 'components' && number === index;
}

async function openTree(
  component: RecipeComponent,
  version: string,
  input: LockedInput | undefined,
  { files, inputs }: LockContext,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const source = sourceOf(component);
  const here = (path: string) => files.find(substitute(path, { version }).text);
  if ('folder' in source) return folderArchive(await here(source.folder), buildEpoch);
  if (!('tar' in source)) return undefined;
  if (isLocal(source.tar)) return createReadStream(await here(source.tar));
  const stored = input === undefined ? undefined : await inputs.find(input.sha256);
  return stored && inputs.read(stored);
}

/** As they are put on the node: without what `strip` and `only` leave out. */
async function* treeEntries(
  component: RecipeComponent,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Pick<TarEntry, 'path' | 'type'>> {
  const source = sourceOf(component);
  const { strip = 0, only } = 'tar' in source ? source : {};
  const reader = streamInput(unpack(content, signal));
  try {
    for await (const { entry } of readTar(reader, archiveRules)) {
      const path = entry.path.split('/').slice(strip).join('/');
      const isTaken = only?.some((name) => path === name || path.startsWith(`${name.replace(/\/+$/, '')}/`));
      if (path !== '' && isTaken !== false) yield { path, type: entry.type };
    }
  } finally {
    await reader.close();
  }
}

/** At its very path; a file that lies where the other one needs a folder does so as well. */
function covers({ type }: Pick<TarEntry, 'type'>, entry: string, file: string): boolean {
  return entry === file || (type !== 'directory' && file.startsWith(`${entry}/`));
}

function coveredFile(file: RecipePlace, component: RecipeComponent, where: string): ImagoError {
  const name = component.private === true ? 'a private component' : component.name;
  return new ImagoError(
    'recipe-invalid',
    `${file.at.join('.')}: ${file.who} would replace a file of ${name}: ${file.path} (${where}).`,
    { hint: 'Give it another place, or leave the file out of the tree: by `only`, for an archive.' },
  );
}

function keyOf(path: string): string {
  return mergedUsr(path.split('/').filter((part) => part !== '')).join('/');
}
