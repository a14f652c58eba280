// Takes versions out of the galleries' own idea of `latest`, in every region, and reads back that they are. A
// gallery that does not answer, or says yes and does nothing, is named, and does not keep the others from hearing.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { type KnownGallery, listGalleries } from './galleries.ts';
import { answered, settleOffer, startOffer } from './offer.ts';

export interface ToldGalleries {
  /** `sim/main: node:1.34.2`. */
  readonly told: readonly string[];
  /** One sentence each. */
  readonly failed: readonly string[];
}

export async function tellGalleries(
  deps: OperationDeps,
  versions: readonly VersionName[],
  context: StepContext<unknown>,
): Promise<ToldGalleries> {
  const told: string[] = [];
  const failed: string[] = [];
  for (const provider of deps.providers()) {
    if (!provider.abilities.excludeFromLatest) continue;
    const galleries = await guard(`${provider.name} does not list its galleries`, () =>
      listGalleries([provider], answered(provider.name, callOptions(deps, context.signal))),
    );
    for (const gallery of galleries ?? []) {
      await guard(`gallery ${gallery.name} does not leave it out`, () => tell(gallery));
    }
  }
  return { told, failed };

  async function guard<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (thrown) {
      context.signal.throwIfAborted();
      failed.push(`${what}: ${ensureImagoError(thrown).message}`);
      return undefined;
    }
  }

  async function tell(gallery: KnownGallery): Promise<void> {
    for (const [index, version] of versions.entries()) {
      context.progress(index, versions.length, `telling gallery ${gallery.name}`);
      if (await leaveOut(deps, gallery, version, context)) {
        told.push(`${gallery.name}: ${version.image}:${version.version}`);
      }
    }
  }
}

/** `false` when the gallery does not have the version. */
async function leaveOut(
  deps: OperationDeps,
  gallery: KnownGallery,
  name: VersionName,
  context: StepContext<unknown>,
): Promise<boolean> {
  const options = callOptions(deps, context.signal);
  const change = { ...name, offered: false };
  const found = await startOffer(gallery, change, options);
  if (found === 'absent') return false;
  if (found === 'making') {
    throw new ImagoError('provider-conflict', `${name.image}:${name.version} is still being made there.`);
  }
  if (found === 'started') await settleOffer(gallery, change, options);
  return true;
}
