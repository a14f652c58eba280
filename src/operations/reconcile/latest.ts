// Tells galleries again what their `latest` is, where a move could not: one that did not answer then, an operation that
// was stopped in between, a gallery that stands for a channel only since. It starts changes and waits for none.

import type { FoundProblem } from '../../domain/problem/problem.ts';
import { allPages } from '../common/all-pages.ts';
import type { OperationDeps } from '../common/deps.ts';
import { agreeUntilSame, canLeaveOut, markOf, offeringIn } from '../gallery/sync-latest.ts';
import type { Upkeep } from './retain-inputs.ts';

export type LatestDeps = Pick<
  OperationDeps,
  'catalogue' | 'galleryBook' | 'provider' | 'providers' | 'epoch'
>;

/** So many images are looked at in a gallery a round, the others in the next ones. */
const mostLooks = 200;
/** A gallery that fails so often is left alone until the next round. */
const mostFailures = 3;

/** What was found right is not asked for again until a channel moves; a new process looks at all of it once. */
export function latestUpkeep(deps: LatestDeps): Upkeep {
  const right = new Map<string, string>();
  /** Looked at last, so that one which goes on failing does not keep others waiting. */
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
        let [looks, failures] = [0, 0];
        for (const image of inOrder) {
          signal.throwIfAborted();
          const key = keyOf(image);
          const mark = markOf(await offeringIn(deps, gallery, image));
          if (mark === '' || right.get(key) === mark) continue;
          const { whole, failed } = await agreeUntilSame(deps, gallery, image, { signal, wait: false });
          if (whole) right.set(key, mark);
          if (failed.length === 0) failing.delete(key);
          else {
            const message = `Gallery ${gallery.name} does not offer the right latest version of ${image}: ${failed.join(' ')}`;
            failing.set(key, { kind: 'latest-not-synced', subject: `gallery/${gallery.name}`, message });
          }
          looks += 1;
          failures += failed.length === 0 ? 0 : 1;
          if (looks >= mostLooks || failures >= mostFailures) break;
        }
      }
      return [...failing.values()];
    },
  };
}
