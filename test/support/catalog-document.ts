// A catalogue as a team has it after two years: several images, systems and regions, versions in every state.

import type { ImageRecord, VersionRecord } from '../../src/domain/image/version.ts';
import {
  type CatalogDocument,
  type CatalogImage,
  catalogImage,
} from '../../src/domain/public-catalog/catalog.ts';
import { kubernetesCalendar } from '../../src/domain/support/calendar.ts';

const now = new Date('2026-11-16T09:00:00Z');
const azure = {
  ...{ subscription: '00000000-0000-4000-8000-000000000001', resourceGroup: 'images', gallery: 'nodes' },
  communityName: 'nodes-5f0c9a1e-2b7d-4f7e-9d2a-1c3f5b7a9e00',
};
const everywhere = ['eastus', 'northeurope', 'southeastasia', 'westeurope', 'westus2'];

interface Line {
  readonly name: string;
  readonly os: ImageRecord['os'];
  readonly architecture: ImageRecord['architecture'];
  /** Kubernetes versions, oldest first; each is a version of the image. */
  readonly kubernetes: readonly string[];
  readonly regions: readonly string[];
}

const lines: readonly Line[] = [
  {
    ...{ name: 'debian-13', os: 'linux', architecture: 'x64', regions: everywhere },
    kubernetes: ['1.34.2', '1.34.3', '1.35.1', '1.35.2', '1.36.0', '1.36.1'],
  },
  {
    ...{ name: 'debian-13-arm', os: 'linux', architecture: 'arm64', regions: ['northeurope', 'westeurope'] },
    kubernetes: ['1.35.2', '1.36.1'],
  },
  {
    ...{ name: 'windows-2025', os: 'windows', architecture: 'x64', regions: ['eastus', 'westeurope'] },
    kubernetes: ['1.35.2', '1.36.1'],
  },
];

export function sampleCatalog(): CatalogDocument {
  return {
    schemaVersion: 1,
    title: 'Reference node images',
    generatedAt: now.toISOString(),
    images: lines.map(imageOf),
  };
}

/** The version whose page has notes and bills of materials. */
export const describedVersion = { image: 'debian-13', version: '1.36.1' } as const;

export const sampleNotes = `# debian-13 1.36.1

- Kernel: 6.12.57
- Kubernetes: 1.36.1

## Changes since 1.36.0

### Packages

\`\`\`
~ containerd 2.3.1 → 2.3.2
~ openssl 3.5.4-1 → 3.5.4-2
\`\`\`

## Components

| name | version | size | sha256 |
|---|---|---|---|
| kubelet | 1.36.1 | 58 MiB | \`${'4f'.repeat(32)}\` |
| containerd | 2.3.2 | 41 MiB | \`${'a1'.repeat(32)}\` |
`;

function imageOf({ name, os, architecture, kubernetes, regions }: Line, index: number): CatalogImage {
  const versions = kubernetes.map((number, place) => versionOf(name, number, index * 10 + place));
  return catalogImage({
    image: { name, os, architecture, numbering: 'kubernetes', createdAt: '2025-01-01T00:00:00Z' },
    versions,
    channels: [
      { ...channelOf(name), name: 'production', version: kubernetes.at(-2) ?? '' },
      { ...channelOf(name), name: 'latest', managed: true, version: kubernetes.at(-1) ?? '' },
    ],
    copies: versions.map(({ version }) => ({ gallery: 'public', version, regions, azure })),
    dates: kubernetesCalendar,
    described: new Set(
      versions.filter((one) => one.image === describedVersion.image).map(({ digest }) => digest),
    ),
    now,
  });
}

function channelOf(image: string) {
  return { image, forTesting: false, managed: false, position: 1, public: true };
}

function versionOf(image: string, number: string, seed: number): VersionRecord {
  const broken = image === 'debian-13' && number === '1.36.0';
  const old = number.startsWith('1.34');
  return {
    ...{ image, version: number, kubernetes: number, operation: 'op', sizeBytes: 4_294_967_296 },
    digest: `sha256:${String(seed + 11).repeat(32)}`,
    diskDigest: `sha256:${String(seed + 41).repeat(32)}`,
    origin: { kind: 'built', lockDigest: 'sha256:lock' },
    createdAt: new Date(Date.UTC(2026, 5, 1 + seed * 4)).toISOString(),
    ...(broken
      ? { state: 'withdrawn', withdrawnFrom: 'available', reason: 'Nodes lose their network after a reboot.' }
      : old
        ? { state: 'deprecated', reason: 'Out of support since 2026-10-27 (kubernetes 1.34).' }
        : { state: 'available' }),
  };
}
