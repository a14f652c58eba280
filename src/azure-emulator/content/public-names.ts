// Community and shared galleries: public names that lead to the galleries of any subscription.
import type { Document } from '../arm/documents.ts';
import type { Face } from '../arm/face.ts';
import { listAt, part, textAt } from '../arm/json.ts';

export type PublicKind = 'community' | 'shared';

export interface PublicThing {
  readonly face: Face;
  readonly gallery: Document;
  /** The gallery, image definition or version that the name means. */
  readonly document: Document;
}

const pattern = /^\/(community|shared)galleries\/([^/]+)(?:\/images\/([^/]+)(?:\/versions\/([^/]+))?)?$/i;

/** Finds what `/CommunityGalleries/NAME/Images/IMAGE/Versions/VERSION` means. */
export function findPublic(face: Face, id: string): PublicThing | undefined {
  const [, kind, gallery = '', image, version] = pattern.exec(id) ?? [];
  if (kind === undefined) return undefined;
  const names = [image, version].filter((one) => one !== undefined);
  return findNamed(face, kind.toLowerCase() as PublicKind, gallery, names);
}

export function findNamed(
  face: Face,
  kind: PublicKind,
  name: string,
  [image, version]: readonly string[],
): PublicThing | undefined {
  for (const owner of face.faces()) {
    const gallery = owner.documents.ofType('galleries').find((one) => isNamed(one, kind, name));
    if (gallery === undefined) continue;
    const inside = image === undefined ? '' : `/images/${image}`;
    const id = `${gallery.id}${inside}${version === undefined ? '' : `/versions/${version}`}`;
    const document = owner.documents.get(id);
    return document && { face: owner, gallery, document };
  }
  return undefined;
}

function isNamed({ body }: Document, kind: PublicKind, name: string): boolean {
  const properties = part(body, 'properties');
  const sharing = part(properties, 'sharingProfile');
  if (kind === 'shared') {
    const unique = textAt(properties, 'identifier', 'uniqueName') ?? '';
    return sharing.permissions === 'Groups' && unique.toLowerCase() === name.toLowerCase();
  }
  const info = part(sharing, 'communityGalleryInfo');
  return info.communityGalleryEnabled === true && listAt(info, 'publicNames').includes(name);
}
