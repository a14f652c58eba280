// Where versions live and are copied to regions: the local store, an OCI registry, Azure Compute Gallery.
import type { Page, PageQuery } from './page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './provider.ts';

/** A line of versions in the gallery. Everything but the description is fixed once made. */
export interface GalleryImage {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly architecture: 'x64' | 'arm64';
  /** Firmware that machines of it start with. A gallery that wants one definition each gets two images. */
  readonly generation: 1 | 2;
  readonly description?: string;
}

export interface RegionTarget {
  readonly region: string;
  readonly replicas: number;
  readonly excludeFromLatest?: boolean;
}

/** Where a gallery version's bytes come from. Fixed once made. */
export type VersionSource =
  | { readonly kind: 'disk'; readonly digest: string }
  | { readonly kind: 'snapshot'; readonly name: string }
  | { readonly kind: 'version'; readonly gallery?: string; readonly image: string; readonly version: string };

export interface GalleryVersionSpec {
  readonly image: string;
  readonly version: string;
  readonly source: VersionSource;
  readonly regions: readonly RegionTarget[];
  readonly excludeFromLatest: boolean;
  /** ISO time; information only, never a cause of deletion. */
  readonly endOfLife?: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface RegionState extends RegionTarget {
  readonly state: 'pending' | 'replicating' | 'ready' | 'failed';
  /** 0 to 100. */
  readonly percent: number;
  readonly error?: ProvisioningError;
}

export interface GalleryVersion extends Omit<GalleryVersionSpec, 'regions'> {
  readonly state: ProvisioningState;
  readonly regions: readonly RegionState[];
  readonly createdAt: string;
  readonly sizeBytes?: number;
  /** Of the raw disk, where the gallery can tell (`abilities.galleryDigest`). */
  readonly diskDigest?: string;
  readonly error?: ProvisioningError;
}

/** What may change on a version that exists. Absent fields stay as they are. */
export interface GalleryVersionChange {
  readonly regions?: readonly RegionTarget[];
  readonly excludeFromLatest?: boolean;
  readonly endOfLife?: string;
}

export interface GalleryLimit {
  readonly name: 'images' | 'versions' | 'versions-per-image' | 'replicas-per-version' | 'bytes';
  readonly used: number;
  readonly limit: number;
}

export interface Gallery {
  /** Makes the image, or adopts one that is the same; `provider-conflict` when a fixed property differs. */
  createImage(image: GalleryImage, options: CallOptions): Promise<void>;
  getImage(name: string, options: CallOptions): Promise<GalleryImage | undefined>;
  listImages(query: PageQuery, options: CallOptions): Promise<Page<GalleryImage>>;
  /** Refused with `provider-conflict` while it has versions. */
  deleteImage(name: string, options: CallOptions): Promise<void>;

  /** Starts the copy. The same source again adopts it, another one is `provider-conflict`: content never changes. */
  createVersion(spec: GalleryVersionSpec, options: CallOptions): Promise<void>;
  getVersion(image: string, version: string, options: CallOptions): Promise<GalleryVersion | undefined>;
  /** In the order of their numbers. */
  listVersions(image: string, query: PageQuery, options: CallOptions): Promise<Page<GalleryVersion>>;
  /** Starts the change; a region that failed is tried again when it is named again. */
  updateVersion(
    image: string,
    version: string,
    change: GalleryVersionChange,
    options: CallOptions,
  ): Promise<void>;
  /** Starts the deletion; `getVersion` answers `undefined` when it is gone. */
  deleteVersion(image: string, version: string, options: CallOptions): Promise<void>;

  limits(options: CallOptions): Promise<readonly GalleryLimit[]>;
}
