// Sees to it that the provider's gallery holds the resolved version, whole, before anything starts from it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { Gallery, GalleryVersion } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { callOptions, type OperationDeps, requireRole } from '../common/deps.ts';
import { resolved } from '../image/resolve-step.ts';
import { checkMayGo, publicFor } from './copy-target.ts';
import { requireRoom } from './limits.ts';

/** Says which operation began a copy, so that undo takes away its own half-made one and nobody else's. */
const operationTag = 'imago-operation';
const publishDeadlineMs = 6 * 3600_000;

export function publishStep<Input extends { readonly provider?: string | undefined }>(
  deps: OperationDeps,
  providerOf: (context: StepContext<Input>) => Promise<string | undefined> = async (context) =>
    context.input.provider,
): WorkStep<Input> {
  async function gallery(context: StepContext<Input>) {
    const provider = deps.provider(await providerOf(context));
    return { provider, gallery: provider.gallery, options: callOptions(deps, context.signal) };
  }
  return {
    name: 'publish',
    async do(context) {
      const { provider, gallery: target, options } = await gallery(context);
      if (target === undefined) return { gallery: 'none' };
      const version = resolved(context);
      await startCopy(deps, provider, version, context.operation.id, options);
      const ready = await settle(async () => whole(await readVersion(context, target, version, options)), {
        clock: provider.clock,
        signal: context.signal,
        deadlineMs: publishDeadlineMs,
        what: `The copy of ${version.image}:${version.version}`,
      });
      return published(ready);
    },
    async verify(context) {
      const { provider, gallery: target, options } = await gallery(context);
      if (target === undefined) return { gallery: 'none' };
      const { image, version } = resolved(context);
      const found = await target.getVersion(image, version, options);
      if (found?.state !== 'ready' || (await isForbidden(deps, provider, image, version))) return undefined;
      return published(found);
    },
    async undo(context) {
      const { provider, gallery: target, options } = await gallery(context);
      if (target === undefined) return 'kept';
      const { image, version } = resolved(context);
      const found = await target.getVersion(image, version, options);
      if (found === undefined) return undefined;
      const isKept = found.state === 'ready' && !(await isForbidden(deps, provider, image, version));
      if (isKept || found.tags[operationTag] !== context.operation.id) return 'kept';
      await target.deleteVersion(image, version, options);
      await settle(
        async () => ((await target.getVersion(image, version, options)) === undefined ? true : undefined),
        {
          clock: provider.clock,
          signal: context.signal,
          deadlineMs: publishDeadlineMs,
          what: `The removal of the half-made copy of ${image}:${version}`,
        },
      );
      return undefined;
    },
  };
}

async function startCopy(
  deps: OperationDeps,
  provider: Provider,
  version: Resolution,
  operation: string,
  options: ReturnType<typeof callOptions>,
): Promise<void> {
  const [image, record] = await Promise.all([
    deps.catalogue.getImage(version.image),
    deps.catalogue.getVersion(version.image, version.version),
  ]);
  if (image === undefined || record === undefined) {
    throw new ImagoError('version-not-found', `${version.image}:${version.version} is not in the catalogue.`);
  }
  const target = requireRole(provider, 'gallery');
  await checkMayGo(deps, { provider }, record);
  await requireRoom(target, version, options);
  await target.createImage(
    { name: image.name, os: image.os, architecture: image.architecture, generation: 2 },
    options,
  );
  const [home] = provider.abilities.regions;
  await target.createVersion(
    {
      image: version.image,
      version: version.version,
      source: { kind: 'disk', digest: record.diskDigest },
      regions: home === undefined ? [] : [{ region: home, replicas: 1 }],
      excludeFromLatest: provider.abilities.excludeFromLatest,
      tags: { 'imago-digest': version.digest, [operationTag]: operation },
    },
    options,
  );
  // The gallery may have become public since.
  await checkMayGo(deps, { provider }, record);
}

async function isForbidden(
  deps: OperationDeps,
  provider: Provider,
  image: string,
  version: string,
): Promise<boolean> {
  const record = await deps.catalogue.getVersion(image, version);
  return record !== undefined && (await publicFor(deps, { provider }, record)) !== undefined;
}

async function readVersion(
  context: StepContext<unknown>,
  target: Gallery,
  version: Resolution,
  options: ReturnType<typeof callOptions>,
): Promise<GalleryVersion | undefined> {
  const found = await target.getVersion(version.image, version.version, options);
  const percent = Math.min(100, ...(found?.regions.map((region) => region.percent) ?? [0]));
  context.progress(percent, 100, `copying ${version.image}:${version.version} to the gallery`);
  return found;
}

/** The version when it is whole, `undefined` when not yet, an error when it will never be. */
function whole(version: GalleryVersion | undefined): GalleryVersion | undefined {
  if (version?.state === 'failed') {
    throw new ImagoError(
      'provider-failed',
      `The gallery could not make ${version.image}:${version.version}: ${version.error?.message ?? 'no reason given'}`,
    );
  }
  return version?.state === 'ready' ? version : undefined;
}

function published(version: GalleryVersion): Json {
  return {
    image: version.image,
    version: version.version,
    regions: version.regions.map((region) => region.region),
  };
}
