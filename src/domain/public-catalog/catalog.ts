// The catalogue for people without an account: what is available, until when, where, and how to name it. Restricted
// versions and candidates are never in it.

import type { ChannelRecord } from '../channel/channel.ts';
import type { AzureCoordinates } from '../gallery/gallery.ts';
import type { ImageRecord, VersionRecord } from '../image/version.ts';
import { compareAge } from '../image/version.ts';
import { type SupportDate, supportOf } from '../support/support.ts';
import type { CatalogImage, CatalogVersion } from './record.ts';
import { referencesTo } from './references.ts';

export type { CatalogImage, CatalogPlace, CatalogVersion } from './record.ts';

export const catalogSchemaVersion = 1;

export interface CatalogDocument {
  readonly schemaVersion: typeof catalogSchemaVersion;
  readonly title: string;
  readonly generatedAt: string;
  readonly images: readonly CatalogImage[];
}

/** A gallery that has the version, by what the provider says. */
export interface CatalogCopy {
  readonly gallery: string;
  readonly version: string;
  readonly regions: readonly string[];
  readonly azure?: AzureCoordinates;
}

export interface CatalogFacts {
  readonly image: ImageRecord;
  readonly versions: readonly VersionRecord[];
  readonly channels: readonly ChannelRecord[];
  readonly copies: readonly CatalogCopy[];
  readonly dates: readonly SupportDate[];
  /** Digests of versions whose records can be read. */
  readonly described: ReadonlySet<string>;
  readonly now: Date;
}

/** Everyone may know of it. One that was withdrawn before it was ever available never was public. */
export function isListed({ state, restricted, withdrawnFrom }: VersionRecord): boolean {
  if (restricted === true) return false;
  if (state === 'withdrawn') return withdrawnFrom !== undefined && withdrawnFrom !== 'candidate';
  return state === 'available' || state === 'deprecated';
}

export function catalogImage(facts: CatalogFacts): CatalogImage {
  const { name, os, architecture, simulated } = facts.image;
  const shown = facts.channels.filter((channel) => !channel.forTesting);
  const versions = facts.versions
    .filter(isListed)
    .toSorted((a, b) => compareAge(b, a))
    .map((version) => catalogVersion(version, shown, facts));
  return { name, os, architecture, ...(simulated && { simulated }), versions };
}

function catalogVersion(
  version: VersionRecord,
  channels: readonly ChannelRecord[],
  { copies, dates, described, now }: CatalogFacts,
): CatalogVersion {
  const support = supportOf(version, dates, now);
  const usable = version.state !== 'withdrawn';
  return {
    version: version.version,
    state: usable ? (version.state as 'available' | 'deprecated') : 'withdrawn',
    ...(version.reason === undefined ? {} : { reason: version.reason }),
    digest: version.digest,
    diskDigest: version.diskDigest,
    sizeBytes: version.sizeBytes,
    ...(version.kubernetes === undefined ? {} : { kubernetes: version.kubernetes.replace(/^v/, '') }),
    createdAt: version.createdAt,
    ...(support && { support: { phase: support.phase, endsOn: support.endsOn, by: support.by } }),
    channels: channels
      .filter((channel) => channel.version === version.version)
      .map((channel) => channel.name)
      .toSorted(),
    places: copies
      .filter((copy) => usable && copy.version === version.version)
      .map(({ gallery, regions, azure }) => ({
        gallery,
        regions: regions.toSorted(),
        references: azure === undefined ? [] : referencesTo(azure, version.image, version.version),
      })),
    described: usable && described.has(version.digest),
  };
}
