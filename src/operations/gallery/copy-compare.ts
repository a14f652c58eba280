// Whether a copy in a gallery is the version that was tested: by its digest where the gallery can give one, else by
// what it was made from and its tags, and on request by reading every byte back.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { GalleryVersion } from '../../ports/provider/gallery.ts';
import type { CopyTarget } from './copy-target.ts';

export const digestTag = 'imago-digest';

/** How sure it is, from the weakest to the strongest. */
export type Compared = 'source' | 'digest' | 'bytes';

/** Throws `copy-differs` for a copy of something else under the same number. */
export function compareCopy(
  { name }: Pick<CopyTarget, 'name'>,
  version: VersionRecord,
  found: GalleryVersion,
): Exclude<Compared, 'bytes'> {
  const { image, version: number } = version;
  if (found.diskDigest !== undefined) {
    if (found.diskDigest === version.diskDigest) return 'digest';
    throw differs(name, version, `it holds ${found.diskDigest}`);
  }
  const tag = found.tags[digestTag];
  if (tag !== version.digest) throw differs(name, version, `its tag says ${tag ?? 'nothing'}`);
  const { source } = found;
  const same =
    (source.kind === 'disk' && source.digest === version.diskDigest) ||
    (source.kind === 'version' && source.image === image && source.version === number) ||
    (source.kind === 'snapshot' && version.origin.kind === 'captured');
  if (!same) throw differs(name, version, `it was made from ${JSON.stringify(source)}`);
  return 'source';
}

/** Throws `copy-differs`, and `provider-lacks` where nothing can be read back. */
export async function compareBytes(
  { name, gallery, provider }: CopyTarget,
  version: VersionRecord,
  options: CallOptions,
): Promise<'bytes'> {
  if (gallery.readDigest === undefined) {
    throw new ImagoError('provider-lacks', `Provider ${provider.name} cannot read disks of galleries back.`, {
      hint: 'Leave out --deep: the copy is compared by its digest, or by its source and tags.',
    });
  }
  const read = await gallery.readDigest(version.image, version.version, options);
  if (read === version.diskDigest) return 'bytes';
  throw differs(name, version, `its bytes have the digest ${read || 'of nothing'}`);
}

function differs(gallery: string, { image, version, diskDigest }: VersionRecord, how: string): ImagoError {
  return new ImagoError(
    'copy-differs',
    `${image}:${version} in gallery ${gallery} is not what was tested (${diskDigest}): ${how}.`,
  );
}
