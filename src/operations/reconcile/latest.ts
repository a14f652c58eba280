// Syncs the `latest` of galleries where a move could not: a gallery that did not respond, an operation that was stopped
// in between, a gallery that serves a channel only since then. It starts changes without waiting for them.

import type { FoundProblem } from '../../domain/problem/problem.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { canLeaveOut, markOf, offeringIn, syncLatest } from '../gallery/sync-latest.ts';
import type { Upkeep } from './retain-inputs.ts';

export type LatestDeps = Pick<
  OperationDeps,
  'catalogue' | 'galleryBook' | 'provider' | 'providers' | 'epoch'
>;

/** How many images of a gallery are checked in one pass; the others follow in the next ones. */
const maxChecks = 200;
/** A gallery that fails this often is skipped until the next pass. */
const maxFailures = 3;

/** What matches is not read again until a channel moves; a new process reads everything once. */
export function latestUpkeep(deps: LatestDeps): Upkeep {
  const right = new Map<string, string>();
  /** Checked last, so that a persistent failure does not delay others. */
  const failing = new Map<string, FoundProblem>();

  return {
    async round(signal) {
      const galleries = (await deps.galleryBook.list()).filter(
        (gallery) => gallery.channels.length > 0 && canLeaveOut(deps, gallery),
      );
      if (galleries.length === 0) return [];
      const images: string[] = [];
      for await (const { name } of allPages((query) => deps.catalogue.listImages(query))) images.push(name);
      for (const gallery of galleries) {
        const keyOf = (image: string) => `${gallery.name} ${image}`;
        const inOrder = images.toSorted(
          (a, b) => Number(failing.has(keyOf(a))) - Number(failing.has(keyOf(b))),
        );
        let [checks, failures] = [0, 0];
        for (const image of inOrder) {
          signal.throwIfAborted();
          const key = keyOf(image);
          const mark = markOf(await offeringIn(deps, gallery, image));
          if (mark === '' || right.get(key) === mark) continue;
          const { whole, failed } = await syncLatest(deps, gallery, image, { signal, wait: false });
          if (whole) right.set(key, mark);
          if (failed.length === 0) failing.delete(key);
          else {
            const message = `Gallery ${gallery.name} does not offer the right latest version of ${image}: ${failed.join(' ')}`;
            failing.set(key, { kind: 'latest-not-synced', subject: `gallery/${gallery.name}`, message });
          }
          checks += 1;
          failures += failed.length === 0 ? 0 : 1;
          if (checks >= maxChecks || failures >= maxFailures) break;
        }
      }
      return [...failing.values()];
    },
  };
}
