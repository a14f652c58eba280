// Registered galleries as they are recorded.
import * as z from 'zod';
import { listOf, record, timestamp } from '../value/fields.ts';

const azureCoordinates = z.object({
  subscription: z.string(),
  resourceGroup: z.string(),
  gallery: z.string(),
  communityName: z.string().optional().describe('Public name of a community gallery.'),
});
export type AzureCoordinates = z.output<typeof azureCoordinates>;

const galleryRegion = z.object({ region: z.string(), replicas: z.int() });

export const gallery = record('Gallery', 'A registered gallery.', {
  name: z.string(),
  provider: z.string(),
  place: z.string().optional().describe('Gallery name at the provider.'),
  home: z.string().optional().describe('Home region.'),
  channels: listOf(z.string()).describe(
    'Channels that the gallery serves: versions are copied to it before one of them moves.',
  ),
  regions: listOf(galleryRegion).describe('Regions of a version, unless a publication requests more.'),
  public: z.boolean().describe('Never receives restricted versions, and is in the public catalog.'),
  azure: azureCoordinates.optional(),
  by: z.string(),
  at: timestamp,
});
export type GalleryRecord = z.output<typeof gallery>;
