// The galleries that people told Imago of. What each holds is the provider's to say.
import type { GalleryRecord } from '../../domain/gallery/gallery.ts';

export type { GalleryRecord } from '../../domain/gallery/gallery.ts';

export interface GalleryBook {
  /** By name. There are few: a provider allows some hundred. */
  list(): Promise<readonly GalleryRecord[]>;
  get(name: string): Promise<GalleryRecord | undefined>;
  /** Under a name that is known: the newer word counts, but provider, place and home stay (`gallery-exists`). */
  set(gallery: Omit<GalleryRecord, 'at'>): Promise<GalleryRecord>;
  /** Forgets it; what it holds stays there. `false` when there is none of that name. */
  remove(name: string): Promise<boolean>;
}
