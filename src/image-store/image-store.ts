// The image store: the disk store with everything that is done to versions as a whole.
import type { ImageStore } from '../ports/image-store/image-store.ts';
import { checkImage, findImage } from './check-image.ts';
import type { VersionsContext } from './context.ts';
import { imageCopies } from './copies.ts';
import { diskFiles } from './disk-files.ts';
import { keptLocks } from './kept-locks.ts';
import { imageRecords } from './records.ts';
import { imageSignatures } from './signatures.ts';

export type { VersionsContext } from './context.ts';

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
