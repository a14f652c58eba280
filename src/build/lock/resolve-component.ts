// The inputs of one component that is not a Debian package: fetched or taken in, checked, and named by sha256.
import { stat } from 'node:fs/promises';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { describeInput, expectedSha256, type LockedInput } from '../../domain/lock/lock.ts';
import { isLocal } from '../../domain/recipe/local-path.ts';
import { componentKind, type RecipeComponent, sourceOf, versionsOf } from '../../domain/recipe/recipe.ts';
import { substitute } from '../../domain/recipe/variables.ts';
import { fetchImage } from '../containers/fetch-image.ts';
import { layoutSource, registrySource } from '../containers/oci-source.ts';
import type { StoredInput } from '../content/content-folder.ts';
import { measureArchive } from '../inputs/archive-rules.ts';
import { folderArchive } from '../inputs/folder-archive.ts';
import type { LockContext } from './context.ts';
import { buildEpoch } from './rules.ts';

/** One input for each version. Packages have none here. */
export async function resolveComponent(
  component: RecipeComponent,
  context: LockContext,
): Promise<readonly LockedInput[]> {
  if ('package' in sourceOf(component)) return [];
  const inputs: LockedInput[] = [];
  for (const version of versionsOf(component)) inputs.push(await resolveVersion(component, version, context));
  return inputs;
}

async function resolveVersion(
  component: RecipeComponent,
  version: string,
  context: LockContext,
): Promise<LockedInput> {
  const source = sourceOf(component);
  const fill = (text: string) => substitute(text, { version }).text;
  const kind = componentKind(component);
  const secret = component.private === true ? { private: true as const } : {};
  const label = describeInput({ kind, name: component.name, version, ...secret });
  const request = { label, expected: expectedSha256(component, version), context };
  const done = (
    stored: Pick<StoredInput, 'sha256' | 'sizeBytes'>,
    from: string,
    installedBytes: number,
  ): LockedInput => ({
    ...{ kind, name: component.name, version, sha256: stored.sha256, sizeBytes: stored.sizeBytes },
    ...{ source: from, installedBytes, ...secret },
  });
  if ('url' in source) {
    const stored = await fetchAddress({ ...request, url: fill(source.url) });
    return done(stored, fill(source.url), stored.sizeBytes);
  }
  if ('file' in source) {
    const stored = await takeFile({ ...request, path: fill(source.file) });
    return done(stored, `file:${fill(source.file)}`, stored.sizeBytes);
  }
  if ('folder' in source) {
    const path = fill(source.folder);
    const archive = folderArchive(await context.files.find(path), buildEpoch);
    const stored = await context.inputs.add(archive, { label });
    return done(stored, `folder:${path}`, stored.sizeBytes);
  }
  if ('tar' in source) {
    const place = fill(source.tar);
    const stored = isLocal(place)
      ? await takeFile({ ...request, path: place })
      : await fetchAddress({ ...request, url: place });
    const installed = await measureArchive(context.inputs.read(stored), context.signal);
    return done(stored, isLocal(place) ? `file:${place}` : place, installed);
  }
  if ('oci' in source) return resolveArtifact(component, version, source, label, context);
  throw new ImagoError('internal', `${label} has a source that cannot be locked.`);
}

async function resolveArtifact(
  component: RecipeComponent,
  version: string,
  source: { readonly oci: string; readonly layout?: string; readonly digest?: string },
  label: string,
  context: LockContext,
): Promise<LockedInput> {
  const reference = substitute(source.oci, { version }).text;
  const { signal, inputs } = context;
  const opened =
    source.layout === undefined
      ? registrySource(reference, label, context)
      : layoutSource(await context.files.find(source.layout), label, reference);
  try {
    const fetched = await fetchImage({
      source: opened,
      store: inputs,
      label,
      machine: context.machine,
      expected: source.digest,
      signal,
      onBytes: (bytes, total) => context.onBytes?.(label, bytes, total),
    });
    return {
      ...{
        kind: 'files',
        name: component.name,
        version,
        sha256: fetched.sha256,
        sizeBytes: fetched.sizeBytes,
      },
      source: source.layout === undefined ? `oci:${reference}` : `layout:${source.layout}`,
      ...(component.private === true && { private: true as const }),
    };
  } finally {
    await opened.close();
  }
}

interface TakeRequest {
  readonly label: string;
  readonly expected: string | undefined;
  readonly context: LockContext;
}

async function fetchAddress({
  label,
  expected,
  context,
  url,
}: TakeRequest & { readonly url: string }): Promise<StoredInput> {
  context.log(`fetching ${label.replace(/^T/, 't').replace(/^A/, 'a')}`);
  return context.downloads.fetch({
    ...{ url, label, sha256: expected, signal: context.signal },
    onProgress: (bytes, total) => context.onBytes?.(label, bytes, total),
  });
}

export async function takeFile({
  label,
  expected,
  context,
  path,
}: TakeRequest & { readonly path: string }): Promise<StoredInput> {
  const missing = () =>
    new ImagoError('file-missing', `${label} comes from ${path}, and there is no such file.`, {
      hint: 'Paths begin at the folder of the recipe.',
    });
  const file = await context.files.find(path).catch((error: unknown) => {
    throw ensureImagoError(error).code === 'file-missing' ? missing() : error;
  });
  if (!(await stat(file)).isFile()) throw missing();
  return context.inputs.addFile(file, { label, ...(expected !== undefined && { expected }) });
}
