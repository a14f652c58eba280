// The image store: the disk store with everything that is done to versions as a whole.
import type { ImageStore } from '../../ports/image-store.ts';
import { checkImage, findImage } from './check-image.ts';
import { diskFiles } from './disk-files.ts';
import { imageCopies } from './image-copies.ts';
import { imageRecords } from './image-records.ts';
import { imageSignatures } from './image-signatures.ts';
import { keptLocks } from './kept-locks.ts';
import type { VersionsContext } from './versions-context.ts';

export type { VersionsContext } from './versions-context.ts';

export function createImageStore(context: VersionsContext): ImageStore {
  const locks = keptLocks(context);
  return {
    find: async (digest) => findImage(await context.store(), digest),
    check: (request, watch) => checkImage(context, locks, request, watch),
    records: imageRecords(context, locks),
    signatures: imageSignatures(context),
    locks,
    files: diskFiles(context),
    copies: imageCopies(context),
  };
}
