// The container images of a recipe, with all their parts in the input store.
import { describeInput, type LockedInput } from '../../domain/lock/lock.ts';
import { isLocal } from '../../domain/recipe/local-path.ts';
import type { Recipe, RecipeImage } from '../../domain/recipe/recipe.ts';
import { machineNames } from '../../domain/recipe/variables.ts';
import { archiveSource } from '../containers/archive-source.ts';
import { fetchImage } from '../containers/fetch-image.ts';
import { layoutSource, type OciSource, registrySource } from '../containers/oci-source.ts';
import { unpack } from '../inputs/unpack.ts';
import type { LockContext } from './context.ts';
import { takeFile } from './resolve-component.ts';

export async function resolveImage(
  image: RecipeImage,
  recipe: Recipe,
  context: LockContext,
): Promise<LockedInput> {
  const tag = image.name.slice(image.name.lastIndexOf(':') + 1);
  const secret = image.private === true ? { private: true as const } : {};
  const label = describeInput({ kind: 'container-image', name: image.name, version: tag, ...secret });
  const { source, from } = await openImage(image, label, tag, context);
  try {
    const expected = image.from !== undefined && 'digest' in image.from ? image.from.digest : undefined;
    const machine = machineNames[recipe.architecture];
    const fetched = await fetchImage({
      source,
      store: context.inputs,
      label,
      machine,
      expected,
      signal: context.signal,
      onBytes: (bytes, total) => context.onBytes?.(label, bytes, total),
    });
    return {
      ...{ kind: 'container-image', name: image.name, version: tag, sha256: fetched.sha256 },
      ...{ sizeBytes: fetched.sizeBytes, source: from, ...secret },
    };
  } finally {
    await source.close();
  }
}

async function openImage(
  image: RecipeImage,
  label: string,
  tag: string,
  context: LockContext,
): Promise<{ readonly source: OciSource; readonly from: string }> {
  const from = image.from ?? { registry: image.name };
  if ('layout' in from) {
    const source = layoutSource(await context.files.find(from.layout), label, tag);
    return { source, from: `layout:${from.layout}` };
  }
  if ('tar' in from) {
    const stored = isLocal(from.tar)
      ? await takeFile({ label, expected: from.sha256, context, path: from.tar })
      : await context.downloads.fetch({
          ...{ url: from.tar, label, sha256: from.sha256, signal: context.signal },
          onProgress: (bytes, total) => context.onBytes?.(label, bytes, total),
        });
    const source = await archiveSource(
      unpack(context.inputs.read(stored)),
      label,
      image.name,
      context.inputs,
    );
    return { source, from: `archive:${from.tar}` };
  }
  const reference =
    from.digest === undefined ? from.registry : `${from.registry.replace(/@.*$/, '')}@${from.digest}`;
  return {
    source: registrySource(reference, label, context),
    from: `oci:${from.registry}`,
  };
}
