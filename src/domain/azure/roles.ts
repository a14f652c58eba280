// The rights that each job needs in Azure. A test compares them with the requests that the provider really sends.

const reads = [
  'galleries',
  'galleries/images',
  'galleries/images/versions',
  'virtualMachineScaleSets',
  'virtualMachineScaleSets/virtualMachines',
  'virtualMachines',
  'disks',
  'snapshots',
]
  .map((type) => `${type}/read`)
  .concat(
    ['virtualMachineScaleSets/virtualMachines', 'virtualMachines'].map(
      (type) => `${type}/retrieveBootDiagnosticsData/action`,
    ),
  );

/** Where Azure says how far an operation is. */
const polls = ['capsOperations', 'DiskOperations', 'operations'].map((path) => `locations/${path}/read`);
const versions = ['galleries/write', 'galleries/images/write', 'galleries/images/versions/write'];

const jobs = {
  viewer: { what: 'reads everything', rights: reads },
  publisher: {
    what: 'uploads disks, and makes and deletes versions',
    rights: [
      ...[...reads, ...polls, ...versions, 'galleries/images/versions/delete'],
      ...['disks/write', 'disks/delete', 'disks/beginGetAccess/action', 'disks/endGetAccess/action'],
    ],
  },
  capturer: {
    what: 'stops and starts a node, and makes a version from its disk',
    rights: [
      ...[...reads, ...polls, ...versions, 'snapshots/write', 'snapshots/delete'],
      ...['write', 'deallocate/action', 'start/action'].map(
        (right) => `virtualMachineScaleSets/virtualMachines/${right}`,
      ),
      'virtualMachineScaleSets/setOrchestrationServiceState/action',
    ],
  },
  operator: {
    what: 'makes, changes, and deletes pools and their nodes',
    rights: [
      ...[...reads, ...polls],
      ...['write', 'delete', 'manualupgrade/action'].map((right) => `virtualMachineScaleSets/${right}`),
      'virtualMachines/write',
      ...['write', 'delete', 'deallocate/action', 'start/action', 'reimage/action'].map(
        (right) => `virtualMachineScaleSets/virtualMachines/${right}`,
      ),
    ],
    // Azure asks for it when a set is made in a subnet; no request of ours names it.
    others: ['Microsoft.Network/virtualNetworks/subnets/join/action'],
  },
  cleaner: {
    what: 'deletes images and galleries that are empty',
    rights: [...reads, ...polls, 'galleries/delete', 'galleries/images/delete'],
  },
} as const;

export type AzureJob = keyof typeof jobs;
export const azureJobs = Object.keys(jobs) as AzureJob[];

export function rightsOf(job: AzureJob): readonly string[] {
  const { rights, ...rest } = jobs[job];
  const others: readonly string[] = 'others' in rest ? rest.others : [];
  return [...rights.map((right) => `Microsoft.Compute/${right}`), ...others].sort();
}

/** A custom role as `az role definition create` takes it. */
export function roleOf(job: AzureJob, scope: string) {
  return {
    Name: `Imago ${job}`,
    IsCustom: true,
    Description: `Imago: ${jobs[job].what}.`,
    Actions: rightsOf(job),
    NotActions: [],
    AssignableScopes: [scope],
  };
}
