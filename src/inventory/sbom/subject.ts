// What both kinds of SBOM say alike: what they are about, how things are named, and which files count.
import type {
  Inventory,
  InventoryContainerImage,
  InventoryFile,
  InventoryPackage,
} from '../model/inventory.ts';

export interface SbomSubject {
  readonly image: string;
  readonly version: string;
  /** Of the version's manifest: `sha256:…`. Ids in the document follow from it. */
  readonly digest: string;
  /** Of the raw disk, 64 hexadecimal digits. */
  readonly diskSha256: string;
  /** The ISO time of the document: that of the lock's epoch, or of the capture. */
  readonly created: string;
  /** Imago's own version. */
  readonly tool: string;
}

/** A package URL: `pkg:deb/debian/runc@1.1.15?arch=amd64`. The version of a private package is redacted. */
export function packageUrl({ name, version, architecture }: InventoryPackage, distribution: string): string {
  const vendor = distribution === '' ? 'debian' : distribution;
  const at = version === '' ? '' : `@${encode(version)}`;
  return `pkg:deb/${encode(vendor)}/${encode(name)}${at}?arch=${encode(architecture)}`;
}

/** A package URL: `pkg:oci/pause@sha256:…?repository_url=…`. */
export function imageUrl({ name, digest }: InventoryContainerImage): string {
  const repository = name.replace(/@.*$/, '').replace(/:[^:/]*$/, '');
  const last = repository.slice(repository.lastIndexOf('/') + 1).toLowerCase();
  const tag = /:([^:/@]+)$/.exec(name.replace(/@.*$/, ''))?.[1];
  const qualifiers = [
    ...(repository.includes('/') ? [`repository_url=${encode(repository)}`] : []),
    ...(tag === undefined ? [] : [`tag=${encode(tag)}`]),
  ];
  const query = qualifiers.length === 0 ? '' : `?${qualifiers.join('&')}`;
  return `pkg:oci/${encode(last)}@${encode(digest)}${query}`;
}

/** Percent-encodes a part of a package URL; its specification wants colons as they are. */
export function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

export interface SbomFile extends InventoryFile {
  readonly sha256: string;
  readonly sha1: string;
}

export interface SbomFiles {
  /** By the name of their package. */
  readonly owned: ReadonlyMap<string, readonly SbomFile[]>;
  readonly others: readonly SbomFile[];
}

/** Files with content. Those of unpacked container images are covered by the image's digest, and omitted here. */
export function sbomFiles(inventory: Inventory, containerdRoot = '/var/lib/containerd'): SbomFiles {
  const packages = new Set(inventory.packages.map(({ name }) => name));
  const owned = new Map<string, SbomFile[]>();
  const others: SbomFile[] = [];
  for (const file of inventory.files) {
    if (!isHashed(file) || file.path.startsWith(`${containerdRoot}/`)) continue;
    if (file.package === undefined || !packages.has(file.package)) {
      others.push(file);
      continue;
    }
    const files = owned.get(file.package);
    if (files === undefined) owned.set(file.package, [file]);
    else files.push(file);
  }
  return { owned, others };
}

function isHashed(file: InventoryFile): file is SbomFile {
  return file.type === 'file' && file.sha256 !== undefined && file.sha1 !== undefined;
}

/** The packages, each with its files. Files of a package with two architectures go to the first. */
export function packagesWithFiles(
  inventory: Inventory,
  files: SbomFiles,
): { readonly item: InventoryPackage; readonly files: readonly SbomFile[] }[] {
  const given = new Set<string>();
  return inventory.packages.map((item) => {
    const own = given.has(item.name) ? [] : (files.owned.get(item.name) ?? []);
    given.add(item.name);
    return { item, files: own };
  });
}

/** ISO without fractions, as SPDX wants it. */
export function wholeSeconds(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`;
}
