// The software bill of materials in SPDX 2.3. The same inventory of the same version gives the same bytes.
import { createHash } from 'node:crypto';
import { deriveUuid } from '../../disk/bytes/guid.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Inventory, InventoryContainerImage, InventoryPackage } from '../model/inventory.ts';
import { componentsWithFiles, componentUrl, type SbomComponent } from './components.ts';
import {
  imageUrl,
  packagesWithFiles,
  packageUrl,
  type SbomFile,
  type SbomSubject,
  sbomFiles,
  wholeSeconds,
} from './subject.ts';

type Part = { readonly [key: string]: Json | undefined };

export const spdxMediaType = 'application/spdx+json';

const unknown = 'NOASSERTION';
const rootId = 'SPDXRef-Image';
const unsaid = { licenseConcluded: unknown, licenseDeclared: unknown, copyrightText: unknown } as const;

/** `recipe` are the recipe's components, where a lock tells them. */
export function spdxSbom(
  inventory: Inventory,
  subject: SbomSubject,
  recipe: readonly SbomComponent[] = [],
): Json {
  const files = sbomFiles(inventory);
  const { components: placed, rest } = componentsWithFiles(recipe, files.others);
  const packages = packagesWithFiles(inventory, files);
  const containers = inventory.containerImages;
  const windows = windowsPackages(inventory);
  const inRoot = [
    ...packages.map(({ item }) => packageId(item)),
    ...placed.map(({ item }) => componentId(item)),
    ...containers.map(containerId),
    ...windows.map((part) => String(part.SPDXID)),
    ...rest.map(fileId),
  ];
  const owners = [
    ...packages.map(({ item, files: own }) => ({ id: packageId(item), own })),
    ...placed.map(({ item, files: own }) => ({ id: componentId(item), own })),
  ];
  const contained = owners.flatMap(({ id, own }) => own.map((file) => relate(id, 'CONTAINS', fileId(file))));
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${subject.image}-${subject.version}`,
    documentNamespace: `https://spdx.org/spdxdocs/${encodeURIComponent(subject.image)}-${deriveUuid(subject.digest, 'spdx')}`,
    creationInfo: { created: wholeSeconds(subject.created), creators: [`Tool: imago-${subject.tool}`] },
    packages: [
      rootPackage(subject, rest),
      ...packages.map(({ item, files: own }) => debianPackage(inventory, item, own)),
      ...placed.map(({ item, files: own }) => recipePackage(item, own)),
      ...containers.map(containerPackage),
      ...windows,
    ],
    files: [...rest, ...owners.flatMap(({ own }) => own)].map(fileEntry),
    relationships: [
      relate('SPDXRef-DOCUMENT', 'DESCRIBES', rootId),
      ...inRoot.map((id) => relate(rootId, 'CONTAINS', id)),
      ...contained,
    ],
  };
}

function relate(from: string, relationshipType: string, to: string): Part {
  return { spdxElementId: from, relationshipType, relatedSpdxElement: to };
}

/** Ids have letters, digits, dots and dashes alone; a hash keeps apart what would become the same. */
function idOf(kind: string, name: string): string {
  const readable = name.replace(/[^A-Za-z0-9.-]+/g, '-').slice(0, 80);
  return `SPDXRef-${kind}-${readable}-${createHash('sha256').update(name).digest('hex').slice(0, 12)}`;
}

function packageId({ name, architecture }: InventoryPackage): string {
  return idOf('Package', `${name}-${architecture}`);
}

function componentId({ name, version }: SbomComponent): string {
  return idOf('Component', `${name}-${version}`);
}

function containerId({ name }: InventoryContainerImage): string {
  return idOf('Container', name);
}

function fileId({ path }: SbomFile): string {
  return `SPDXRef-File-${createHash('sha256').update(path).digest('hex').slice(0, 24)}`;
}

/** A package that names its files must say one hash over all of theirs. */
function analysed(files: readonly SbomFile[]): Part {
  if (files.length === 0) return { filesAnalyzed: false };
  const all = files.map(({ sha1 }) => sha1).sort();
  const packageVerificationCodeValue = createHash('sha1').update(all.join('')).digest('hex');
  return { filesAnalyzed: true, packageVerificationCode: { packageVerificationCodeValue } };
}

function rootPackage(subject: SbomSubject, files: readonly SbomFile[]): Part {
  return {
    SPDXID: rootId,
    name: subject.image,
    versionInfo: subject.version,
    downloadLocation: unknown,
    primaryPackagePurpose: 'OPERATING_SYSTEM',
    checksums: [{ algorithm: 'SHA256', checksumValue: subject.diskSha256 }],
    comment: `OCI manifest ${subject.digest}`,
    ...analysed(files),
    ...unsaid,
  };
}

function debianPackage(inventory: Inventory, item: InventoryPackage, files: readonly SbomFile[]): Part {
  return {
    SPDXID: packageId(item),
    name: item.name,
    versionInfo: item.version,
    ...(item.maintainer !== '' && { supplier: `Organization: ${supplierName(item.maintainer)}` }),
    downloadLocation: unknown,
    ...(URL.canParse(item.homepage) && { homepage: new URL(item.homepage).href }),
    sourceInfo: `built from ${item.source} ${item.sourceVersion}`,
    externalRefs: [purl(packageUrl(item, inventory.distribution))],
    ...analysed(files),
    ...unsaid,
  };
}

/** SPDX writes `Name (address)` where Debian writes `Name <address>`. */
function supplierName(maintainer: string): string {
  const [, name, address] = /^(.*?)\s*<([^>]+)>$/.exec(maintainer) ?? [];
  if (name === undefined || address === undefined) return maintainer;
  return `${name.replace(/^"(.*)"$/, '$1')} (${address})`;
}

function purl(referenceLocator: string): Part {
  return { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator };
}

function recipePackage(item: SbomComponent, files: readonly SbomFile[]): Part {
  return {
    SPDXID: componentId(item),
    name: item.name,
    versionInfo: item.version,
    downloadLocation: unknown,
    primaryPackagePurpose: item.kind === 'binary' ? 'APPLICATION' : 'ARCHIVE',
    checksums: [{ algorithm: 'SHA256', checksumValue: item.sha256 }],
    externalRefs: [purl(componentUrl(item))],
    ...analysed(files),
    ...unsaid,
  };
}

function containerPackage(image: InventoryContainerImage): Part {
  return {
    SPDXID: containerId(image),
    name: image.name,
    versionInfo: image.digest,
    downloadLocation: unknown,
    primaryPackagePurpose: 'CONTAINER',
    checksums: [{ algorithm: 'SHA256', checksumValue: image.digest.slice('sha256:'.length) }],
    externalRefs: [purl(imageUrl(image))],
    filesAnalyzed: false,
    ...unsaid,
  };
}

function windowsPackages({ windows }: Inventory): Part[] {
  if (windows === undefined) return [];
  const listed = [
    ...windows.patches.map(({ kb, class: kind, version = kind, sha256 }) => ({ name: kb, version, sha256 })),
    ...(windows.programs ?? []).map(({ name, version }) => ({ name, version, sha256: '' })),
    ...windows.cachedFiles,
  ];
  return listed.map(({ name, version, sha256 }, index) => ({
    SPDXID: idOf('Windows', `${name}-${version}-${index}`),
    name,
    versionInfo: version,
    downloadLocation: unknown,
    ...(sha256 !== '' && { checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }] }),
    filesAnalyzed: false,
    ...unsaid,
  }));
}

function fileEntry(file: SbomFile): Part {
  return {
    SPDXID: fileId(file),
    fileName: `.${file.path}`,
    checksums: [
      { algorithm: 'SHA1', checksumValue: file.sha1 },
      { algorithm: 'SHA256', checksumValue: file.sha256 },
    ],
    licenseConcluded: unknown,
    copyrightText: unknown,
  };
}
