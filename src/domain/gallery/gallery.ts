// Galleries that people told Imago of: where versions go, which channels need them there, and how others name them.
import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';

/** How a gallery is named in Azure: for the references that people copy. */
export interface AzureCoordinates {
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly gallery: string;
  /** Of a community gallery: the name by which anyone can use it. */
  readonly communityName?: string;
}

export interface GalleryRegion {
  readonly region: string;
  readonly replicas: number;
}

export interface GalleryRecord {
  readonly name: string;
  readonly provider: string;
  /** What the provider calls it; absent where the provider has only one. */
  readonly place?: string;
  /** The region that it stands in; absent: the provider's first, or none. */
  readonly home?: string;
  /** Versions are copied here before one of these channels moves to them. */
  readonly channels: readonly string[];
  /** Where versions are kept unless a publication asks for more. */
  readonly regions: readonly GalleryRegion[];
  /** Others see it, be it shared with some or open to all: restricted versions never go there, and the exported catalogue shows it. */
  readonly public: boolean;
  readonly azure?: AzureCoordinates;
  readonly by: string;
  readonly at: string;
}

const subscription = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const resourceGroup = /^[\w().-]{0,89}[\w()-]$/;
const galleryName = /^[A-Za-z0-9](?:[A-Za-z0-9._]{0,78}[A-Za-z0-9])?$/;
const communityName = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?$/;

/** Throws `input-invalid` for coordinates that Azure would not take: they end up in what people paste. */
export function checkCoordinates(azure: AzureCoordinates): void {
  const parts: readonly (readonly [string, string | undefined, RegExp])[] = [
    ['subscription id', azure.subscription, subscription],
    ['resource group', azure.resourceGroup, resourceGroup],
    ['gallery name', azure.gallery, galleryName],
    ['community name', azure.communityName, communityName],
  ];
  for (const [what, value, pattern] of parts) {
    if (value === undefined || pattern.test(value)) continue;
    throw new ImagoError('input-invalid', `${quote(value)} is not the ${what} of a gallery in Azure.`);
  }
}
