// Addresses of resources, and the version of the API that each kind is spoken to with.

/** Case does not count in the ids that Azure returns. */
export interface Address {
  /** `galleries/images`. */
  readonly type: string;
  /** One for each part of the type, or one less for a list. */
  readonly names: readonly string[];
  /** The name of an action, for POST. */
  readonly action?: string;
  /** Another resource group than the provider's; empty for all of them. */
  readonly group?: string;
}

/** Recorded conversations exist for each of them. */
const apiVersions: Readonly<Record<string, string>> = {
  galleries: '2024-03-03',
  disks: '2023-10-02',
  snapshots: '2023-10-02',
  virtualMachines: '2024-11-01',
  virtualMachineScaleSets: '2024-11-01',
};
const provider = 'Microsoft.Compute';

export function at(type: string, ...names: readonly string[]): Address {
  return { type, names };
}

export function actionOf(address: Address, action: string): Address {
  return { ...address, action };
}

export function apiVersionOf({ type }: Address): string {
  return apiVersions[type.split('/')[0] ?? ''] ?? '';
}

/** Returns the path below a subscription. */
export function pathOf({ type, names, action, group }: Address, ownGroup: string): string {
  const parts = type
    .split('/')
    .flatMap((part, index) => [part, ...(names[index] === undefined ? [] : [names[index]])]);
  const where = group === '' ? '' : `/resourceGroups/${encodeURIComponent(group ?? ownGroup)}`;
  const path = [...parts, ...(action === undefined ? [] : [action])].map(encodeURIComponent).join('/');
  return `${where}/providers/${provider}/${path}`;
}

/** Returns the right that a request needs. */
export function permissionOf(method: string, { type, action }: Address): string {
  if (action !== undefined) return `${provider}/${type}/${action}/action`;
  if (method === 'GET') return `${provider}/${type}/read`;
  return `${provider}/${type}/${method === 'DELETE' ? 'delete' : 'write'}`;
}

/** Reads the names from an id: `['imago', 'node', '1.2.3']` of a version; empty if it is of another type. */
export function namesIn(id: string | undefined, type: string): readonly string[] {
  const parts = type.split('/').map((part) => `${part}/([^/]+)`);
  return new RegExp(`/${provider}/${parts.join('/')}$`, 'i').exec(id ?? '')?.slice(1) ?? [];
}

/** Reads the resource group from an id. */
export function groupIn(id: string): string {
  return /\/resourceGroups\/([^/]+)\//i.exec(id)?.[1] ?? '';
}
