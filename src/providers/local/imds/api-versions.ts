// The api-versions of Azure's instance metadata service that are answered here, and since when each one has what.

/** Oldest first. `/metadata/versions` gives them all; an error names the three newest. */
export const apiVersions = [
  '2017-03-01',
  '2017-04-02',
  '2017-08-01',
  '2017-10-01',
  '2017-12-01',
  '2018-02-01',
  '2018-04-02',
  '2018-10-01',
  '2019-02-01',
  '2019-03-11',
  '2019-04-30',
  '2019-06-01',
  '2019-06-04',
  '2019-08-01',
  '2019-08-15',
  '2019-11-01',
  '2020-06-01',
  '2020-07-15',
  '2020-09-01',
  '2020-10-01',
  '2020-12-01',
  '2021-01-01',
  '2021-02-01',
  '2021-03-01',
  '2021-05-01',
  '2021-08-01',
  '2021-10-01',
  '2021-11-01',
  '2021-11-15',
  '2021-12-13',
  '2023-07-01',
] as const;

const first = apiVersions[0];

/** Fields of `compute` that came after the first version. Dates compare as text. */
const since: Readonly<Record<string, string>> = {
  azEnvironment: '2018-10-01',
  customData: '2019-02-01',
  isHostCompatibilityLayerVm: '2020-06-01',
  licenseType: '2020-09-01',
  osProfile: '2020-07-15',
  placementGroupId: '2017-08-01',
  plan: '2018-04-02',
  priority: '2020-12-01',
  provider: '2018-10-01',
  publicKeys: '2018-04-02',
  resourceGroupName: '2017-08-01',
  resourceId: '2019-03-11',
  securityProfile: '2020-06-01',
  storageProfile: '2019-06-01',
  subscriptionId: '2017-08-01',
  tags: '2017-08-01',
  tagsList: '2019-06-04',
  userData: '2021-01-01',
  virtualMachineScaleSet: '2021-03-01',
  vmScaleSetName: '2017-12-01',
  zone: '2017-12-01',
};

export function isApiVersion(text: string): boolean {
  return apiVersions.some((known) => known === text);
}

export function hasField(apiVersion: string, field: string): boolean {
  return apiVersion >= (since[field] ?? first);
}

export function newestVersions(): string[] {
  return apiVersions.slice(-3).reverse();
}
