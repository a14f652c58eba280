// Publishes a version: copies its disk to a gallery, in the requested regions, and compares it with what was tested.
import * as declared from '../../domain/gallery/operations.ts';
import type { Resolution } from '../../ports/database/catalog.ts';
import type { RegionTarget } from '../../ports/provider/gallery.ts';
import { operation, type Run } from '../common/operation.ts';
import { requireVersion } from '../common/require.ts';
import { resolveStep, resolveUsable } from '../image/resolve-step.ts';
import { compareCopy } from './copy-compare.ts';
import { checkMayGo, copyTarget } from './copy-target.ts';
import { beginCopy, checkCopy, dropHalfCopy, finishCopy, isWhole, readyRegions } from './copy-version.ts';
import { requireRoomIn } from './limits.ts';

async function open(
  run: Run<{ readonly regions: readonly RegionTarget[] }, { readonly resolve: Resolution }>,
) {
  const { image, version } = run.result('resolve');
  return { target: await copyTarget(run, run.input), version: await requireVersion(run, image, version) };
}

export const imagePublish = operation(declared.imagePublish, {
  async plan(run) {
    const { image, version } = await resolveUsable(run, run.input.reference);
    const target = await copyTarget(run, run.input);
    const record = await requireVersion(run, image, version);
    await checkMayGo(run, target, record);
    await requireRoomIn(run, target, record);
    return [
      `Copy ${image}:${version} (${record.digest}) to the gallery ${target.name}.`,
      ...target.regions.map(({ region, replicas }) => `Keep ${replicas} in ${region}.`),
      ...(run.input.deep ? ['Read every byte back.'] : []),
    ];
  },
})
  .use(resolveStep)
  .step('publish', {
    async do(run) {
      const { target, version } = await open(run);
      await beginCopy(run, target, version);
    },
    async undo(run) {
      const { target, version } = await open(run);
      return dropHalfCopy(run, target, version);
    },
  })
  .step('regions', {
    async do(run) {
      const { target, version } = await open(run);
      return { regions: readyRegions(await finishCopy(run, target, version)) };
    },
    async verify(run) {
      const { target, version } = await open(run);
      const found = await target.gallery.getVersion(version.image, version.version, run.call);
      if (found === undefined || !isWhole(found, target)) return undefined;
      compareCopy(target, version, found);
      return { regions: readyRegions(found) };
    },
  })
  .step('compare', async (run) => {
    const { target, version } = await open(run);
    return checkCopy(run, target, version, run.input.deep);
  })
  .result((run) => {
    const { image, version, digest } = run.result('resolve');
    return { image, version, digest, ...run.result('compare') };
  });
