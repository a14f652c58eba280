// Stops the operations that an operation has started.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { Run } from './operation.ts';

/** Cancels those that have not ended, all or those with such an id, and waits until they have. */
export async function stopChildren(
  {
    desk,
    journal,
    operation: { id: parent, by },
    signal,
  }: Pick<Run, 'desk' | 'journal' | 'operation' | 'signal'>,
  prefix = '',
): Promise<void> {
  const live = (await journal.childStates(parent)).filter(
    ({ id, endedAt }) => endedAt === undefined && id.startsWith(prefix),
  );
  // One that has ended in the meantime needs no cancel.
  for (const { id } of live) await desk().cancel(id, by).catch(ignoreEnded);
  for (const { id } of live) await desk().ended(id, signal);
}

function ignoreEnded(thrown: unknown): void {
  if (ensureImagoError(thrown).code !== 'operation-ended') throw thrown;
}
