// Registered galleries. What each contains is the provider's to report.
import type { GalleryRecord } from '../../domain/gallery/gallery.ts';

export type { GalleryRecord } from '../../domain/gallery/gallery.ts';

export interface GalleryBook {
  /** By name. There are few: a provider allows some hundred. */
  list(): Promise<readonly GalleryRecord[]>;
  get(name: string): Promise<GalleryRecord | undefined>;
  /** Replaces the settings of a known name, but provider, place and home stay (`gallery-exists`). */
  set(gallery: Omit<GalleryRecord, 'at'>): Promise<GalleryRecord>;
  /** Forgets it; what it holds stays there. `false` when there is none of that name. */
  remove(name: string): Promise<boolean>;
}
