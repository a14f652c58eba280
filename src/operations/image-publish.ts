// Publish: the version's disk in a provider's gallery, in the regions that were asked for.
import * as z from 'zod';
import { ImagoError } from '../domain/errors.ts';
import type { OperationKind, StepContext, WorkStep } from '../ports/operation.ts';
import type { GalleryVersion, RegionTarget } from '../ports/provider-gallery.ts';
import { callOptions, type OperationDeps, requireRole } from './deps.ts';
import { requireRoomAt } from './limits.ts';
import { parseInput } from './parse-input.ts';
import { publishStep } from './publish-step.ts';
import { resolved, resolveStep, resolveUsable } from './resolve-step.ts';
import { settle } from './settle.ts';

const publishInput = z.object({
  reference: z.string(),
  provider: z.string().optional(),
  regions: z.array(z.object({ region: z.string(), replicas: z.int().min(1).max(100) })).default([]),
});
export type ImagePublishInput = z.infer<typeof publishInput>;

const regionsDeadlineMs = 6 * 3_600_000;

export function imagePublishOperation(deps: OperationDeps): OperationKind<ImagePublishInput> {
  return {
    kind: 'image-publish',
    parse: (input) => parseInput(publishInput, input),
    async plan({ reference, provider: name, regions }) {
      const { image, version, digest } = await resolveUsable(deps, reference);
      const provider = deps.provider(name);
      requireRole(provider, 'gallery');
      checkRegions(regions, provider.abilities.regions);
      await requireRoomAt(deps, provider, { image, version });
      return [
        `Copy ${image}:${version} (${digest}) to the gallery of ${provider.name}.`,
        ...regions.map(({ region, replicas }) => `Keep ${replicas} in ${region}.`),
      ];
    },
    steps: () => [
      resolveStep<ImagePublishInput>(deps),
      publishStep<ImagePublishInput>(deps),
      regionsStep(deps),
    ],
    result: (context) => {
      const { image, version, digest } = resolved(context);
      return { image, version, digest, ...context.result<{ regions: string[] }>('regions') };
    },
  };
}

function regionsStep(deps: OperationDeps): WorkStep<ImagePublishInput> {
  function at(context: StepContext<ImagePublishInput>) {
    const provider = deps.provider(context.input.provider);
    const gallery = requireRole(provider, 'gallery');
    const { image, version } = resolved(context);
    const options = callOptions(deps, context.signal);
    return { provider, gallery, image, version, options };
  }
  return {
    name: 'regions',
    async do(context) {
      const { provider, gallery, image, version, options } = at(context);
      const asked = context.input.regions;
      const now = await gallery.getVersion(image, version, options);
      if (now === undefined)
        throw new ImagoError('provider-not-found', `${image}:${version} is not published.`);
      await gallery.updateVersion(image, version, { regions: merged(now, asked) }, options);
      await settle(
        async () => {
          const found = await gallery.getVersion(image, version, options);
          const percent = Math.min(100, ...(found?.regions.map((region) => region.percent) ?? []));
          context.progress(percent, 100, `copying ${image}:${version} to its regions`);
          const failed = found?.regions.find(({ state }) => state === 'failed');
          if (failed !== undefined) {
            throw new ImagoError(
              'provider-failed',
              `${image}:${version} could not be copied to ${failed.region}: ${failed.error?.message ?? 'no reason given'}`,
            );
          }
          return isIn(found, asked) ? true : undefined;
        },
        {
          clock: provider.clock,
          signal: context.signal,
          deadlineMs: regionsDeadlineMs,
          what: `The copy of ${image}:${version}`,
        },
      );
      return undefined;
    },
    async verify(context) {
      const { gallery, image, version, options } = at(context);
      const found = await gallery.getVersion(image, version, options);
      if (!isIn(found, context.input.regions)) return undefined;
      return { regions: found?.regions.map(({ region }) => region) ?? [] };
    },
  };
}

function isIn(found: GalleryVersion | undefined, asked: readonly RegionTarget[]): boolean {
  if (found === undefined) return false;
  return asked.every(({ region, replicas }) =>
    found.regions.some(
      (there) => there.region === region && there.state === 'ready' && there.replicas >= replicas,
    ),
  );
}

/** No copy is taken away by asking for others. */
function merged(found: GalleryVersion, asked: readonly RegionTarget[]): readonly RegionTarget[] {
  const targets = new Map(
    found.regions.map(({ region, replicas }) => [region, { region, replicas }] as const),
  );
  for (const target of asked) {
    const replicas = Math.max(target.replicas, targets.get(target.region)?.replicas ?? 0);
    targets.set(target.region, { region: target.region, replicas });
  }
  return [...targets.values()];
}

function checkRegions(asked: readonly RegionTarget[], known: readonly string[]): void {
  for (const { region } of asked) {
    if (known.includes(region)) continue;
    throw new ImagoError('input-invalid', `There is no region ${region} here.`, {
      hint: known.length === 0 ? 'The provider has only one place.' : `There are: ${known.join(', ')}.`,
    });
  }
}
