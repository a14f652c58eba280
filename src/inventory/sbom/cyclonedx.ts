// The software bill of materials in CycloneDX 1.6. The same inventory of the same version gives the same bytes.

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

type Component = { readonly [key: string]: Json | undefined };

export const cycloneDxMediaType = 'application/vnd.cyclonedx+json';

/** `recipe` are the recipe's components, where a lock tells them. */
export function cycloneDxSbom(
  inventory: Inventory,
  subject: SbomSubject,
  recipe: readonly SbomComponent[] = [],
): Json {
  const files = sbomFiles(inventory);
  const { components: placed, rest } = componentsWithFiles(recipe, files.others);
  const root = `${subject.image}@${subject.digest}`;
  const components: Component[] = [
    ...systemComponent(inventory),
    ...packagesWithFiles(inventory, files).map(({ item, files: own }) =>
      packageComponent(inventory, item, own),
    ),
    ...placed.map(({ item, files: own }) => recipeComponent(item, own)),
    ...inventory.containerImages.map(containerComponent),
    ...windowsComponents(inventory),
    ...rest.map(fileComponent),
  ];
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${deriveUuid(subject.digest, 'cyclonedx')}`,
    version: 1,
    metadata: {
      timestamp: wholeSeconds(subject.created),
      tools: { components: [{ type: 'application', name: 'imago', version: subject.tool }] },
      component: {
        type: 'operating-system',
        'bom-ref': root,
        name: subject.image,
        version: subject.version,
        hashes: [{ alg: 'SHA-256', content: subject.diskSha256 }],
        properties: [
          { name: 'imago:manifest', value: subject.digest },
          ...(inventory.kernel.version === ''
            ? []
            : [{ name: 'imago:kernel', value: inventory.kernel.version }]),
        ],
      },
    },
    components,
    dependencies: [{ ref: root, dependsOn: components.map((component) => String(component['bom-ref'])) }],
  };
}

function systemComponent({ system, distribution }: Inventory): Component[] {
  if (system === '') return [];
  return [{ type: 'operating-system', 'bom-ref': 'system', name: distribution, description: system }];
}

function packageComponent(
  inventory: Inventory,
  item: InventoryPackage,
  files: readonly SbomFile[],
): Component {
  const url = packageUrl(item, inventory.distribution);
  return {
    type: 'library',
    'bom-ref': url,
    ...(item.maintainer !== '' && { supplier: { name: item.maintainer } }),
    name: item.name,
    version: item.version,
    purl: url,
    ...(URL.canParse(item.homepage) && {
      externalReferences: [{ type: 'website', url: new URL(item.homepage).href }],
    }),
    properties: [
      { name: 'imago:source', value: `${item.source} ${item.sourceVersion}` },
      { name: 'imago:installedBytes', value: String(item.installedBytes) },
    ],
    ...(files.length > 0 && { components: files.map(fileComponent) }),
  };
}

function recipeComponent(item: SbomComponent, files: readonly SbomFile[]): Component {
  return {
    type: 'application',
    'bom-ref': `component:${item.name}@${item.version}`,
    name: item.name,
    version: item.version,
    hashes: [{ alg: 'SHA-256', content: item.sha256 }],
    purl: componentUrl(item),
    properties: [
      { name: 'imago:kind', value: item.kind },
      { name: 'imago:lockedBytes', value: String(item.sizeBytes) },
    ],
    ...(files.length > 0 && { components: files.map(fileComponent) }),
  };
}

function containerComponent(image: InventoryContainerImage): Component {
  return {
    type: 'container',
    'bom-ref': `container:${image.name}`,
    name: image.name,
    version: image.digest,
    hashes: [{ alg: 'SHA-256', content: image.digest.slice('sha256:'.length) }],
    purl: imageUrl(image),
    properties: [
      { name: 'imago:platform', value: image.platform },
      { name: 'imago:storedBytes', value: String(image.sizeBytes) },
    ],
  };
}

function windowsComponents({ windows }: Inventory): Component[] {
  if (windows === undefined) return [];
  return [
    ...windows.patches.map(({ kb, class: kind, sha256, version = '' }, index) => ({
      type: 'application',
      'bom-ref': windows.source === 'disk' ? `patch:${kb}:${index}` : `patch:${kb}`,
      name: kb,
      ...(version !== '' && { version }),
      ...(sha256 !== '' && { hashes: [{ alg: 'SHA-256', content: sha256 }] }),
      properties: [{ name: 'imago:class', value: kind }],
    })),
    ...(windows.programs ?? []).map(({ name, version, publisher }, index) => ({
      type: 'application',
      'bom-ref': `program:${name}:${index}`,
      ...(publisher !== '' && { supplier: { name: publisher } }),
      name,
      ...(version !== '' && { version }),
    })),
    ...windows.cachedFiles.map(({ name, version, sha256 }) => ({
      type: 'file',
      'bom-ref': `cached:${name}@${version}`,
      name,
      version,
      ...(sha256 !== '' && { hashes: [{ alg: 'SHA-256', content: sha256 }] }),
    })),
  ];
}

function fileComponent(file: SbomFile): Component {
  return {
    type: 'file',
    'bom-ref': `file:${file.path}`,
    name: file.path,
    hashes: [
      { alg: 'SHA-256', content: file.sha256 },
      { alg: 'SHA-1', content: file.sha1 },
    ],
  };
}
