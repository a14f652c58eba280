// The resource providers, as clients ask for them before they choose an api-version or a zone.
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { regionNames } from '../arm/regions.ts';

const versions = {
  compute:
    '2024-11-01, 2024-07-01, 2024-03-01, 2023-09-01, 2023-07-01, 2023-03-01, 2022-11-01, 2022-08-01, 2022-03-01',
  disk: '2024-03-02, 2023-10-02, 2023-04-02, 2023-01-02, 2022-07-02, 2022-03-02',
  gallery: '2024-03-03, 2023-07-03, 2022-08-03, 2022-03-03, 2022-01-03, 2021-10-01',
  network: '2024-05-01, 2023-11-01, 2022-01-01, 2021-02-01',
  storage: '2024-01-01, 2023-05-01, 2022-09-01',
  resources: '2024-11-01, 2022-09-01, 2021-04-01',
} as const;

const providers: Readonly<Record<string, Readonly<Record<string, keyof typeof versions>>>> = {
  'Microsoft.Compute': {
    ...{ availabilitySets: 'compute', virtualMachines: 'compute', virtualMachineScaleSets: 'compute' },
    ...{
      'virtualMachineScaleSets/virtualMachines': 'compute',
      images: 'compute',
      proximityPlacementGroups: 'compute',
    },
    ...{ disks: 'disk', snapshots: 'disk', diskEncryptionSets: 'disk' },
    ...{ galleries: 'gallery', 'galleries/images': 'gallery', 'galleries/images/versions': 'gallery' },
    ...{ sshPublicKeys: 'compute', locations: 'compute', 'locations/usages': 'compute' },
  },
  'Microsoft.Network': {
    ...{ virtualNetworks: 'network', networkInterfaces: 'network', networkSecurityGroups: 'network' },
    ...{ publicIPAddresses: 'network', loadBalancers: 'network', natGateways: 'network' },
  },
  'Microsoft.Storage': { storageAccounts: 'storage' },
  'Microsoft.Resources': { deployments: 'resources', resourceGroups: 'resources' },
};

/** Answers for providers; `undefined` for everything else. */
export function answerProviders(method: string, path: string): Reply | undefined {
  const [, subscription = '', name, action] =
    /^\/subscriptions\/([^/]+)\/providers(?:\/([^/]+)(\/register)?)?$/i.exec(path) ?? [];
  if (subscription === '' || (method !== 'GET' && action === undefined)) return undefined;
  if (name === undefined) {
    return {
      status: 200,
      body: { value: Object.keys(providers).map((one) => providerOf(subscription, one)) },
    };
  }
  return { status: 200, body: providerOf(subscription, name) };
}

function providerOf(subscription: string, name: string): Json {
  const namespace = Object.keys(providers).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
  const locations = [...regionNames.values()];
  const zoneMappings = locations.map((location) => ({ location, zones: ['1', '2', '3'] }));
  const resourceTypes = Object.entries(providers[namespace] ?? {}).map(([resourceType, api]) => {
    const apiVersions = versions[api].split(', ');
    const capabilities =
      'CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation';
    return {
      resourceType,
      locations,
      apiVersions,
      defaultApiVersion: apiVersions[0],
      zoneMappings,
      capabilities,
    };
  });
  return {
    ...{
      id: `/subscriptions/${subscription}/providers/${namespace}`,
      namespace,
      authorizations: [],
      resourceTypes,
    },
    ...{ registrationState: 'Registered', registrationPolicy: 'RegistrationRequired' },
  };
}
