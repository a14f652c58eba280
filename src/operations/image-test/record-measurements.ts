// What the tests of a version measured gets into its notes, where everyone reads what a version costs.
import type { OperationDeps } from '../common/deps.ts';

/** Does nothing for a version that is not in the store, or of which nothing was measured. Again adds nothing. */
export async function noteMeasures(
  { images }: Pick<OperationDeps, 'images'>,
  digest: string,
  bootToReadyMs: number | undefined,
): Promise<void> {
  if (images === undefined || bootToReadyMs === undefined) return;
  if ((await images.find(digest)) === undefined) return;
  await images.records.measured(digest, { bootToReadyMs });
}
