// Resources as they travel: the models of Azure's own client, with times as text. Fields that they do not know travel
// along unchanged.
import type {
  DiskProperties,
  GalleryImageProperties,
  GalleryImageVersionProperties,
  GalleryProperties,
  SnapshotProperties,
  VirtualMachineScaleSetProperties,
  VirtualMachineScaleSetVMProperties,
} from '@azure/arm-compute';

type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Wire<T[Name]> | (undefined extends T[Name] ? undefined : never) }
      : T;

/** A resource as it is sent. */
export interface Body<P> {
  readonly location: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly sku?: { readonly name?: string; readonly capacity?: number };
  readonly properties: P;
}

/** A resource as it is received. */
export interface Resource<P> extends Body<P> {
  readonly id: string;
  readonly name: string;
  readonly etag?: string;
}

export type WireGallery = Wire<GalleryProperties>;
export type WireImage = Wire<GalleryImageProperties>;
export type WireVersion = Wire<GalleryImageVersionProperties>;
export type WireDisk = Wire<DiskProperties>;
export type WireSnapshot = Wire<SnapshotProperties>;
export type WirePool = Wire<VirtualMachineScaleSetProperties>;
export type WireInstance = Wire<VirtualMachineScaleSetVMProperties>;
