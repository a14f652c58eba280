// What clients look up before they make machines: images of the Marketplace, sizes, and quotas.
import { ArmError } from '../arm/arm-error.ts';
import type { Call, Routes } from '../arm/face.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { regionNames } from '../arm/regions.ts';
import { toRegion } from '../arm/resource.ts';
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

export const marketplaceRoutes: Routes = {
  [`GET ${images}`]: {
    answer: async (call) => ({ status: 200, body: [imageOf(call, '1.0.0')] as unknown as Json }),
  },
  [`GET ${images}/*`]: { answer: getImage },
  'GET skus': {
    answer: async (call) => ({ status: 200, body: { value: sizes.map((size) => skuOf(call, size)) } }),
  },
  'GET locations/vmsizes': {
    answer: async () => ({
      status: 200,
      body: {
        value: sizes.map(([name, numberOfCores, memory]) => ({
          ...{ name, numberOfCores, memoryInMB: memory * 1024, maxDataDiskCount: 16 },
          ...{ osDiskSizeInMB: 1_047_552, resourceDiskSizeInMB: 16_384 },
        })),
      },
    }),
  },
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
