// The public catalog as responses and exports carry it. Restricted versions and candidates are never in it.
import * as z from 'zod';
import { architectures, operatingSystems } from '../image/platform.ts';
import { day, digest, listOf, record, timestamp } from '../value/fields.ts';

const catalogPlace = z.object({
  gallery: z.string(),
  regions: listOf(z.string()).describe('Regions with a ready copy. Empty if the gallery has no regions.'),
  references: listOf(
    z.object({ tool: z.enum(['capz', 'terraform', 'bicep', 'az']), text: z.string() }),
  ).describe('Snippets for tools.'),
});
export type CatalogPlace = z.output<typeof catalogPlace>;

const catalogVersion = z.object({
  version: z.string(),
  state: z.enum(['available', 'deprecated', 'withdrawn']),
  reason: z.string().optional(),
  digest,
  diskDigest: z.string(),
  sizeBytes: z.number(),
  kubernetes: z.string().optional(),
  createdAt: timestamp,
  support: z
    .object({ phase: z.enum(['supported', 'ending', 'ended']), endsOn: day, by: z.string() })
    .optional(),
  channels: listOf(z.string()),
  places: listOf(catalogPlace),
  described: z.boolean().describe('Whether its release notes and SBOM are available.'),
});
export type CatalogVersion = z.output<typeof catalogVersion>;

export const catalogImage = record('CatalogImage', 'The public data of an image.', {
  name: z.string(),
  os: z.enum(operatingSystems),
  architecture: z.enum(architectures),
  simulated: z.literal(true).optional().describe('Simulated: its versions have no disks.'),
  versions: listOf(catalogVersion).describe('Newest first, without candidates and restricted versions.'),
});
export type CatalogImage = z.output<typeof catalogImage>;
