// Publish: the version's disk in a gallery, in the regions that were asked for, compared with what was tested.
import * as z from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { OperationKind, StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { resolved, resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { type Compared, compareCopy } from './copy-compare.ts';
import { type CopyTarget, checkMayGo, copyTarget } from './copy-target.ts';
import { beginCopy, checkCopy, dropHalfCopy, finishCopy, isWhole } from './copy-version.ts';
import { requireRoomIn } from './limits.ts';

const publishInput = z.object({
  reference: z.string(),
  provider: z.string().optional(),
  gallery: z.string().optional(),
  regions: z.array(z.object({ region: z.string(), replicas: z.int().min(1).max(100) })).default([]),
  deep: z.boolean().default(false),
});
export type ImagePublishInput = z.infer<typeof publishInput>;

export function imagePublishOperation(deps: OperationDeps): OperationKind<ImagePublishInput> {
  return {
    kind: 'image-publish',
    parse: (input) => parseInput(publishInput, input),
    async plan(input) {
      const { image, version } = await resolveUsable(deps, input.reference);
      const target = await copyTarget(deps, input);
      const record = await requireVersion(deps, image, version);
      await checkMayGo(deps, target, record);
      await requireRoomIn(deps, target, record);
      return [
        `Copy ${image}:${version} (${record.digest}) to the gallery ${target.name}.`,
        ...target.regions.map(({ region, replicas }) => `Keep ${replicas} in ${region}.`),
        ...(input.deep ? ['Read every byte back.'] : []),
      ];
    },
    steps: () => [
      resolveStep<ImagePublishInput>(deps),
      publishStep(deps),
      regionsStep(deps),
      compareStep(deps),
    ],
    result(context) {
      const { image, version, digest } = resolved(context);
      const checked = requireResult<{ regions: string[]; compared: Compared; gallery: string }>(
        context,
        'compare',
      );
      return { image, version, digest, ...checked };
    },
  };
}

async function requireVersion(deps: OperationDeps, image: string, version: string): Promise<VersionRecord> {
  const found = await deps.catalogue.getVersion(image, version);
  if (found !== undefined) return found;
  throw new ImagoError('version-not-found', `${image}:${version} is not in the catalogue any more.`);
}

async function at(
  deps: OperationDeps,
  context: StepContext<ImagePublishInput>,
): Promise<{ readonly target: CopyTarget; readonly version: VersionRecord }> {
  const { image, version } = resolved(context);
  return {
    target: await copyTarget(deps, context.input),
    version: await requireVersion(deps, image, version),
  };
}

function publishStep(deps: OperationDeps): WorkStep<ImagePublishInput> {
  return {
    name: 'publish',
    async do(context) {
      const { target, version } = await at(deps, context);
      await beginCopy(deps, target, version, context);
      return undefined;
    },
    async undo(context) {
      const { target, version } = await at(deps, context);
      return dropHalfCopy(deps, target, version, context);
    },
  };
}

function regionsStep(deps: OperationDeps): WorkStep<ImagePublishInput> {
  return {
    name: 'regions',
    async do(context) {
      const { target, version } = await at(deps, context);
      await finishCopy(deps, target, version, context);
      return undefined;
    },
    async verify(context) {
      const { target, version } = await at(deps, context);
      const options = callOptions(deps, context.signal);
      const found = await target.gallery.getVersion(version.image, version.version, options);
      if (found === undefined || !isWhole(found, target)) return undefined;
      compareCopy(target, version, found);
      return { regions: found.regions.map(({ region }) => region) };
    },
  };
}

function compareStep(deps: OperationDeps): WorkStep<ImagePublishInput> {
  return {
    name: 'compare',
    async do(context) {
      const { target, version } = await at(deps, context);
      const { regions, compared } = await checkCopy(deps, target, version, context, context.input.deep);
      return { gallery: target.name, regions: [...regions], compared };
    },
  };
}
