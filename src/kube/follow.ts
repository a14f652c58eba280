// Follows the objects of a resource: one list, then watches that resume where the previous one ended. Only if the server
// no longer has that point is the list read again.
import { ensureImagoError } from '../domain/error/imago-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { KubeApi, KubeResource, KubeResources, Selection } from '../ports/kube/api.ts';

export type Change<T> =
  /** All objects: replaces everything that the reader knows. */
  | { readonly type: 'list'; readonly items: readonly T[] }
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: T };

const firstPauseMs = 500;
const longestPauseMs = 30_000;
const changes = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const;

/**
 * Runs until the signal aborts or the reader stops. An API server that is away is retried without a limit: the reader
 * sets the deadline. Throws errors that a retry cannot help, such as `cluster-forbidden`.
 */
export async function* follow<R extends KubeResource>(
  api: KubeApi,
  clock: Clock,
  resource: R,
  selection: Selection = {},
): AsyncGenerator<Change<KubeResources[R]>> {
  let version: string | undefined;
  let pauseMs = firstPauseMs;
  const isStopped = () => selection.signal?.aborted === true;
  while (!isStopped()) {
    try {
      if (version === undefined) {
        const list = await api.list(resource, selection);
        version = list.resourceVersion;
        yield { type: 'list', items: list.items };
      }
      for await (const event of api.watch(resource, { ...selection, resourceVersion: version })) {
        pauseMs = firstPauseMs;
        if (event.type === 'EXPIRED') {
          version = undefined;
          break;
        }
        version = event.object.metadata.resourceVersion ?? version;
        if (event.type !== 'BOOKMARK') yield { type: changes[event.type], object: event.object };
      }
      if (version === undefined) continue;
    } catch (thrown) {
      if (isStopped()) return;
      if (!ensureImagoError(thrown).retryable) throw thrown;
    }
    // A server that closes watches immediately is not asked in a tight loop.
    await clock.sleep(pauseMs, selection.signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}
