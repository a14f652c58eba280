// What clients look up before they make machines: images of the Marketplace, sizes, and quotas.
import { ArmError } from '../arm/arm-error.ts';
import type { Call, Routes } from '../arm/face.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { regionNames } from '../arm/regions.ts';
import { requireDocument, toRegion } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { aboutMarketplace } from '../content/content.ts';

const images = 'locations/publishers/artifacttypes/offers/skus/versions';
/** Name, cores, memory in GB. */
const sizes = [
  ['Standard_DS1_v2', 1, 3.5],
  ['Standard_B2ms', 2, 8],
  ['Standard_D2s_v3', 2, 8],
  ['Standard_D2s_v5', 2, 8],
  ['Standard_D4s_v5', 4, 16],
  ['Standard_D8s_v5', 8, 32],
  ['Standard_D2ps_v5', 2, 8],
] as const;

/** Publisher, offer, sku: a few of those that clients look up by name. Versions of every other one exist too. */
const known = [
  ['Canonical', '0001-com-ubuntu-server-jammy', '22_04-lts-gen2'],
  ['Canonical', 'ubuntu-24_04-lts', 'server'],
  ['Debian', 'debian-12', '12'],
  ['Debian', 'debian-12', '12-gen2'],
  ['MicrosoftWindowsServer', 'WindowsServer', '2022-datacenter-g2'],
] as const;
const extensions = [
  ['Microsoft.Azure.Extensions', 'CustomScript', '2.1.13'],
  ['Microsoft.Azure.ActiveDirectory', 'AADSSHLoginForLinux', '1.0.2859.1'],
  ['Microsoft.ManagedServices', 'ApplicationHealthLinux', '2.0.15'],
] as const;
const types = 'locations/publishers/artifacttypes/types';

/** Lists what follows the names in the path; a name that is in no row does not exist. */
function listed(call: Call, rows: readonly (readonly string[])[], what: readonly string[]): readonly Json[] {
  const [location = '', publisher, , ...inside] = call.address.names;
  const asked = [publisher, ...inside].filter((name) => name !== undefined);
  let left = rows;
  for (const [index, name] of asked.entries()) {
    left = left.filter((row) => row[index]?.toLowerCase() === name.toLowerCase());
    if (left.length === 0) throw new ArmError(404, 'NotFound', `${what[index]}: ${name} was not found.`);
  }
  const names = [...new Set(left.map((row) => row[asked.length] ?? ''))].sort();
  return names.map((name) => ({ location, name, id: `${call.address.id}/${name}` }));
}

/** Azure answers these look-ups with a bare list. */
function bareList(items: readonly Json[]): Reply {
  return { status: 200, body: items as unknown as Json };
}

const listRoute = (rows: readonly (readonly string[])[], ...what: readonly string[]) => ({
  answer: async (call: Call) => bareList(listed(call, rows, what)),
});

export const marketplaceRoutes: Routes = {
  // Azure lists the publishers of images and of extensions together.
  'GET locations/publishers': listRoute([...known, ...extensions], 'Publisher'),
  'GET locations/publishers/artifacttypes/offers': listRoute(known, 'Publisher'),
  'GET locations/publishers/artifacttypes/offers/skus': listRoute(known, 'Publisher', 'Offer'),
  [`GET ${types}`]: listRoute(extensions, 'Publisher'),
  [`GET ${types}/versions`]: listRoute(extensions, 'Publisher', 'Type'),
  [`GET ${types}/versions/*`]: { answer: getExtension },
  'GET virtualmachines/vmsizes': { answer: async () => listSizes() },
  'GET virtualmachinescalesets/skus': { answer: listSetSizes },
  [`GET ${images}`]: {
    answer: async (call) => bareList([imageOf(call, '1.0.0')]),
  },
  [`GET ${images}/*`]: { answer: getImage },
  'GET skus': {
    answer: async (call) => ({ status: 200, body: { value: sizes.map((size) => skuOf(call, size)) } }),
  },
  'GET locations/vmsizes': { answer: async () => listSizes() },
  'GET locations/usages': {
    answer: async ({ face }) => ({
      status: 200,
      body: {
        value: [
          usage(
            'virtualMachines',
            'Virtual Machines',
            face.documents.ofType('virtualMachines').length,
            25_000,
          ),
          usage(
            'virtualMachineScaleSets',
            'Virtual Machine Scale Sets',
            face.documents.ofType('virtualMachineScaleSets').length,
            2_500,
          ),
        ],
      },
    }),
  },
};

function listSizes(): Reply {
  const value = sizes.map(([name, numberOfCores, memory]) => ({
    ...{ name, numberOfCores, memoryInMB: memory * 1024, maxDataDiskCount: 16 },
    ...{ osDiskSizeInMB: 1_047_552, resourceDiskSizeInMB: 16_384 },
  }));
  return { status: 200, body: { value } };
}

async function listSetSizes(call: Call): Promise<Reply> {
  requireDocument(call, ownerOf(call.address).id);
  const capacity = { minimum: 0, maximum: 1_000, defaultCapacity: 1, scaleType: 'Automatic' };
  const resourceType = 'Microsoft.Compute/virtualMachines';
  const value = sizes.map(([name]) => ({ resourceType, sku: { name, tier: 'Standard' }, capacity }));
  return { status: 200, body: { value } };
}

async function getExtension(call: Call): Promise<Reply> {
  const [location, publisher = '', , type = '', version = ''] = call.address.names;
  const path = call.address.names.slice(0, 4);
  const versions = listed({ ...call, address: { ...call.address, names: path } }, extensions, [
    'Publisher',
    'Type',
  ]);
  if (!versions.some(({ name }) => name === version))
    throw new ArmError(404, 'NotFound', `Artifact: VMExtension ${publisher}.${type} was not found.`);
  const properties = {
    ...{ operatingSystem: 'Linux', computeRole: 'IaaS', handlerSchema: '', vmScaleSetEnabled: true },
    supportsMultipleExtensions: false,
  };
  return { status: 200, body: { location, name: version, id: call.address.id, properties } };
}

function usage(value: string, localizedValue: string, currentValue: number, limit: number): Json {
  return { name: { value, localizedValue }, currentValue, limit, unit: 'Count' };
}

function imageOf({ address }: Call, version: string): Json {
  const base = address.id.replace(/\/versions(?:\/[^/]+)?$/i, '');
  return { location: address.names[0], name: version, id: `${base}/Versions/${version}` };
}

async function getImage(call: Call): Promise<Reply> {
  const [, publisher, , offer, sku, version = ''] = call.address.names;
  if (!/^\d+(?:\.\d+)*$/.test(version))
    throw new ArmError(404, 'NotFound', `Artifact: VMImage was not found.`);
  const about = aboutMarketplace(`${publisher}/${offer}/skus/${sku}`);
  const properties = {
    ...{ hyperVGeneration: about.hyperVGeneration, architecture: 'x64', disallowed: { vmDiskType: 'None' } },
    ...{ osDiskImage: { operatingSystem: about.osType }, dataDiskImages: [], features: [] },
    ...{ automaticOSUpgradeProperties: { automaticOSUpgradeSupported: true }, replicaType: 'Unmanaged' },
  };
  return { status: 200, body: { ...imageOf(call, version), properties } };
}

function skuOf({ query }: Call, [name, cores, memory]: (typeof sizes)[number]): Json {
  const wanted = /location eq '([^']+)'/.exec(query.get('$filter') ?? '')?.[1];
  const locations = wanted === undefined ? [...regionNames.keys()] : [toRegion(wanted)];
  const capabilities = {
    ...{
      vCPUs: cores,
      MemoryGB: memory,
      PremiumIO: 'True',
      HyperVGenerations: 'V1,V2',
      EphemeralOSDiskSupported: 'True',
    },
    ...{
      CpuArchitectureType: name.includes('ps_') ? 'Arm64' : 'x64',
      DiskControllerTypes: 'SCSI',
      AcceleratedNetworkingEnabled: 'True',
    },
  };
  return {
    ...{
      resourceType: 'virtualMachines',
      name,
      tier: 'Standard',
      size: name.replace('Standard_', ''),
      family: 'standardFamily',
    },
    locations,
    locationInfo: locations.map((location) => ({ location, zones: ['1', '2', '3'], zoneDetails: [] })),
    capabilities: Object.entries(capabilities).map(([key, value]) => ({ name: key, value: String(value) })),
    restrictions: [],
  };
}
