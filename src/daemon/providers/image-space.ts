// What prune may free of the local store. A store that was never used is not opened, so that looking writes nothing.
import { existsSync } from 'node:fs';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { collectGarbage } from '../../oci/layout/collect-garbage.ts';
import { type Digest, parseDigest } from '../../oci/layout/digest.ts';
import type { ImageSpace } from '../../ports/database/lifecycle.ts';

export function imageSpace(folder: string, open: () => Promise<DiskStore>): ImageSpace {
  async function collect(keep: ReadonlySet<string>, going?: ReadonlySet<string>): Promise<number> {
    if (!existsSync(folder)) return 0;
    const store = await open();
    const roots = [...keep].map((digest): Digest => parseDigest(digest));
    const dryRun = going !== undefined;
    return (await collectGarbage(store, { roots, dryRun, asIfUntagged: going })).bytes;
  }
  return {
    async digests() {
      if (!existsSync(folder)) return new Set();
      return new Set((await (await open()).list()).map(({ digest }) => digest));
    },
    reclaimable: collect,
    reclaim: (keep) => collect(keep),
  };
}
