// Galleries that people told Imago of: where versions go, which channels need them there, and how others name them.
import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';
import type { AzureCoordinates } from './record.ts';

export type { AzureCoordinates, GalleryRecord } from './record.ts';

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
