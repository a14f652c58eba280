// The document of /metadata/instance, in the shape and with the spellings of Azure: numbers and truth values
// are text, hardware addresses have no separators, absent values are empty.
import { hasField } from './api-versions.ts';
import type { MachineMetadata } from './machine-metadata.ts';

export interface InterfaceFacts {
  /** Written as 02:00:00:00:00:01. */
  readonly mac: string;
  readonly address: string;
  readonly subnet: string;
  readonly prefix: number;
}

export type MetadataNode =
  | string
  | readonly MetadataNode[]
  | { readonly [key: string]: MetadataNode | undefined };

const subscription = '00000000-0000-0000-0000-000000000000';
const group = 'imago';

function computeId(...parts: readonly string[]): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Compute/${parts.join('/')}`;
}

/** The first interface has the address that other machines of the pool use. */
export function instanceDocument(
  metadata: MachineMetadata,
  interfaces: readonly InterfaceFacts[],
  apiVersion: string,
): MetadataNode {
  const compute = Object.fromEntries(
    Object.entries(computeSection(metadata)).filter(([field]) => hasField(apiVersion, field)),
  );
  return { compute, network: { interface: interfaces.map(interfaceSection) } };
}

function computeSection(metadata: MachineMetadata): Record<string, MetadataNode> {
  const { image, name, pool = '' } = metadata;
  const tags = Object.entries(metadata.tags);
  const scaleSet = pool === '' ? '' : computeId('virtualMachineScaleSets', pool);
  return {
    azEnvironment: 'ImagoLocal',
    customData: '',
    isHostCompatibilityLayerVm: 'false',
    licenseType: '',
    location: metadata.region,
    name,
    offer: '',
    osProfile: {
      adminUsername: metadata.adminUser ?? '',
      computerName: name,
      disablePasswordAuthentication: 'true',
    },
    osType: 'Linux',
    placementGroupId: '',
    plan: { name: '', product: '', publisher: '' },
    platformFaultDomain: '0',
    platformUpdateDomain: '0',
    priority: '',
    provider: 'Microsoft.Compute',
    publicKeys: (metadata.publicKeys ?? []).map((keyData) => ({
      keyData,
      path: `/home/${metadata.adminUser ?? 'root'}/.ssh/authorized_keys`,
    })),
    publisher: '',
    resourceGroupName: group,
    resourceId: scaleSet === '' ? computeId('virtualMachines', name) : `${scaleSet}/virtualMachines/${name}`,
    securityProfile: { secureBootEnabled: 'false', virtualTpmEnabled: 'false' },
    sku: '',
    storageProfile: {
      dataDisks: [],
      imageReference: {
        exactVersion: image.version,
        id: computeId('galleries', image.gallery, 'images', image.image, 'versions', image.version),
        offer: '',
        publisher: '',
        sku: '',
        version: image.version,
      },
      osDisk: { caching: 'ReadWrite', createOption: 'FromImage', name: `${name}_OsDisk`, osType: 'Linux' },
      resourceDisk: { size: '0' },
    },
    subscriptionId: subscription,
    tags: tags.map(([key, value]) => `${key}:${value}`).join(';'),
    tagsList: tags.map(([key, value]) => ({ name: key, value })),
    userData: metadata.userData,
    version: image.version,
    virtualMachineScaleSet: { id: scaleSet },
    vmId: metadata.machineId,
    vmScaleSetName: pool,
    vmSize: metadata.size,
    zone: '',
  };
}

function interfaceSection(facts: InterfaceFacts): MetadataNode {
  return {
    ipv4: {
      ipAddress: [{ privateIpAddress: facts.address, publicIpAddress: '' }],
      subnet: [{ address: facts.subnet, prefix: String(facts.prefix) }],
    },
    ipv6: { ipAddress: [] },
    macAddress: facts.mac.replaceAll(':', '').toUpperCase(),
  };
}

/** The part of the document that a path names; `undefined` when there is none. */
export function findNode(document: MetadataNode, path: readonly string[]): MetadataNode | undefined {
  let node: MetadataNode | undefined = document;
  for (const step of path) {
    if (node === undefined || typeof node === 'string') return undefined;
    if (isList(node)) node = /^(0|[1-9]\d{0,3})$/.test(step) ? node[Number(step)] : undefined;
    else node = Object.hasOwn(node, step) ? node[step] : undefined;
  }
  return node;
}

/** A leaf as it is; of anything else the names inside it, a line each, those that go deeper with a slash. */
export function nodeText(node: MetadataNode): string {
  if (typeof node === 'string') return node;
  const entries: [string, MetadataNode | undefined][] = isList(node)
    ? node.map((value, index) => [String(index), value])
    : Object.entries(node);
  return entries.map(([name, value]) => (typeof value === 'string' ? name : `${name}/`)).join('\n');
}

function isList(node: Exclude<MetadataNode, string>): node is readonly MetadataNode[] {
  return Array.isArray(node);
}
