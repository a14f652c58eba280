// Deletes a version's copies from every gallery, and reads back that they are gone.
import type { VersionName } from '../../ports/database/lineage.ts';
import type { StepContext } from '../../ports/workflow/operation.ts';
import { settle } from '../../workflow/poll-until.ts';
import { callOptions, type OperationDeps } from '../common/deps.ts';
import { listGalleries } from '../gallery/galleries.ts';

/** Azure takes 91 to 150 s. */
const deadlineMs = 30 * 60_000;

/** A second call finds nothing left to delete. */
export async function deleteCopies(
  deps: OperationDeps,
  { image, version }: VersionName,
  { signal }: Pick<StepContext<unknown>, 'signal'>,
): Promise<void> {
  const options = callOptions(deps, signal);
  for (const { name, gallery, provider } of await listGalleries(deps.providers(), options)) {
    const found = await gallery.getVersion(image, version, options);
    if (found === undefined) continue;
    if (found.state !== 'deleting') await gallery.deleteVersion(image, version, options);
    await settle(
      async () => ((await gallery.getVersion(image, version, options)) === undefined ? true : undefined),
      {
        clock: provider.clock,
        signal,
        deadlineMs,
        what: `The removal of ${image}:${version} from gallery ${name}`,
      },
    );
  }
}
