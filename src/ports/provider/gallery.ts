// Where versions live and are copied to regions: the local store, an OCI registry, Azure Compute Gallery.
import type { Page, PageQuery } from '../page.ts';
import type { CallOptions, ProvisioningError, ProvisioningState } from './call.ts';

/** A line of versions in the gallery. Everything but the description is fixed once made. */
export interface GalleryImage {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly architecture: 'x64' | 'arm64';
  /** Firmware that machines of it start with. A gallery that wants one definition each gets two images. */
  readonly generation: 1 | 2;
  /**
   * `specialized` disks keep the identity of the machine that they came from; clouds start them without
   * settings of their own, and a pool cannot go from one kind to the other. Absent: `generalized`.
   */
  readonly osState?: 'generalized' | 'specialized';
  readonly description?: string;
}

export interface RegionTarget {
  readonly region: string;
  /** Copies kept there: about one for every 20 machines that start at the same time. At least 1. */
  readonly replicas: number;
  /** For this region; beats the version's own flag. */
  readonly excludeFromLatest?: boolean;
}

/** Where a gallery version's bytes come from. Fixed once made. */
export type VersionSource =
  /** The sealed disk with this sha256 (of the raw disk, without footer). */
  | { readonly kind: 'disk'; readonly digest: string }
  | { readonly kind: 'snapshot'; readonly name: string }
  /** A version that is ready, of this gallery unless another is named: a copy of the same bytes. */
  | { readonly kind: 'version'; readonly gallery?: string; readonly image: string; readonly version: string };

export interface GalleryVersionSpec {
  readonly image: string;
  readonly version: string;
  readonly source: VersionSource;
  /**
   * Where the version is to be had, each region once. The gallery's own region must be among them; empty
   * means that region alone, with one copy, and is the only choice of a provider without regions.
   */
  readonly regions: readonly RegionTarget[];
  readonly excludeFromLatest: boolean;
  /** ISO time; information only, never a cause of deletion. */
  readonly endOfLife?: string;
  /** The gallery refuses to delete it before `endOfLife`. Needs `abilities.deletionGuard`. Absent: no. */
  readonly blockDeletionBeforeEndOfLife?: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

export interface RegionState extends RegionTarget {
  /** `pending` until the gallery's own region has the bytes that the others are copied from. */
  readonly state: 'pending' | 'replicating' | 'ready' | 'failed';
  /** 0 to 100. */
  readonly percent: number;
  readonly error?: ProvisioningError;
}

export interface GalleryVersion extends Omit<GalleryVersionSpec, 'regions'> {
  /** `failed` if a region failed and none is in progress; see the regions. */
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
  /** The whole list as it is to be. Regions that are new are copied to, those that failed are tried again. */
  readonly regions?: readonly RegionTarget[];
  /** Without it, a list that leaves out a region which the version is in throws `provider-conflict`. */
  readonly allowRegionRemoval?: boolean;
  readonly excludeFromLatest?: boolean;
  readonly endOfLife?: string;
  readonly blockDeletionBeforeEndOfLife?: boolean;
}

export interface GalleryLimit {
  readonly name:
    | 'galleries'
    | 'images'
    | 'versions'
    | 'versions-per-image'
    | 'replicas-per-version'
    | 'bytes';
  /** Where limits are counted by region: of this one, all galleries in it together. */
  readonly region?: string;
  /** Of all galleries together where the provider counts so; for a limit on each version, that of the fullest. */
  readonly used: number;
  readonly limit: number;
}

export interface Gallery {
  /** Makes the image, or adopts one that is the same; `provider-conflict` when a fixed property differs. */
  createImage(image: GalleryImage, options: CallOptions): Promise<void>;
  getImage(name: string, options: CallOptions): Promise<GalleryImage | undefined>;
  /** In the order of their names. */
  listImages(query: PageQuery, options: CallOptions): Promise<Page<GalleryImage>>;
  /** Refused with `provider-conflict` while it has versions. */
  deleteImage(name: string, options: CallOptions): Promise<void>;

  /**
   * Starts the copy. The same source again adopts it, whatever its regions and flags are by now, and tries
   * regions that failed; another source is `provider-conflict`: content never changes. A source that
   * does not exist is `provider-not-found`.
   */
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
  /**
   * Starts the deletion; `getVersion` answers `undefined` when it is gone. Running nodes keep their disks, but
   * no new one can be made from it. `provider-conflict` while the deletion guard holds.
   */
  deleteVersion(image: string, version: string, options: CallOptions): Promise<void>;

  /** With an image, `versions-per-image` is that of this image; otherwise that of the fullest. */
  limits(options: CallOptions & { readonly image?: string }): Promise<readonly GalleryLimit[]>;

  /**
   * Reads every byte of the disk that it holds, and answers with their sha256. Takes as long as that takes. Absent
   * where disks cannot be read back.
   */
  readDigest?(image: string, version: string, options: CallOptions): Promise<string>;
}

/** One of several galleries of a provider. All but the description is fixed once made. */
export interface GallerySpec {
  readonly name: string;
  /** Where it stands and its versions are made first; absent: the provider's first region. */
  readonly region?: string;
  readonly description?: string;
}

export interface Galleries {
  /** The name of the one that the provider's role `gallery` is for. */
  readonly own: string;
  /** Makes an empty gallery, or adopts one that is the same. */
  createGallery(spec: GallerySpec, options: CallOptions): Promise<void>;
  getGallery(name: string, options: CallOptions): Promise<GallerySpec | undefined>;
  /** In the order of their names; the provider's default gallery is among them. */
  listGalleries(query: PageQuery, options: CallOptions): Promise<Page<GallerySpec>>;
  /** Refused with `provider-conflict` while it has images. */
  deleteGallery(name: string, options: CallOptions): Promise<void>;
  /** The role for that gallery. Makes no call: a gallery that does not exist shows at the first one. */
  open(name: string): Gallery;
}
