// What Azure does with the body of a write before a resource sees it: values of its lists get its own spelling, and
// ids of other resources must be whole.
import { ArmError } from './arm-error.ts';
import { isObject, type Json } from './json.ts';

const storage = 'Standard_LRS Standard_ZRS Premium_LRS Premium_ZRS StandardSSD_LRS StandardSSD_ZRS';
/** Fields whose values are one of a list, and that list. */
const lists: Readonly<Record<string, string>> = {
  storageAccountType: `${storage} UltraSSD_LRS PremiumV2_LRS`,
  'sku.name': `${storage} UltraSSD_LRS PremiumV2_LRS`,
  osType: 'Linux Windows',
  osState: 'Generalized Specialized',
  hyperVGeneration: 'V1 V2',
  architecture: 'x64 Arm64',
  createOption:
    'Empty Attach FromImage Import ImportSecure Copy CopyStart CopyFromSanSnapshot Restore Upload UploadPreparedSecure',
  caching: 'None ReadOnly ReadWrite',
  hostCaching: 'None ReadOnly ReadWrite',
  deleteOption: 'Delete Detach',
  detachOption: 'ForceDetach',
  replicationMode: 'Full Shallow',
  networkAccessPolicy: 'AllowAll AllowPrivate DenyAll',
  publicNetworkAccess: 'Enabled Disabled',
  permissions: 'Private Groups Community',
  operationType: 'Add Remove Reset EnableCommunity',
  access: 'None Read Write',
  mode: 'Manual Automatic Rolling Incremental Complete Audit Enforce',
  orchestrationMode: 'Uniform Flexible',
  priority: 'Regular Low Spot',
  evictionPolicy: 'Deallocate Delete',
  securityType: 'TrustedLaunch ConfidentialVM Standard',
  repairAction: 'Replace Restart Reimage',
  diskControllerType: 'SCSI NVMe',
};
const spelling = new Map(
  Object.entries(lists).map(([field, values]) => [
    field,
    new Map(values.split(' ').map((value) => [value.toLowerCase(), value])),
  ]),
);
/** What a client may write as it likes. */
const free = new Set(['tags', 'settings', 'protectedSettings', 'template', 'parameters']);

/** Returns the body with the values of its lists as Azure writes them; others are kept. */
export function spelled(body: Json, parent = ''): Json {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      free.has(name) ? value : spelledValue(name, value, parent),
    ]),
  );
}

function spelledValue(name: string, value: unknown, parent: string): unknown {
  if (Array.isArray(value)) return value.map((item) => (isObject(item) ? spelled(item, name) : item));
  if (isObject(value)) return spelled(value, name);
  if (typeof value !== 'string') return value;
  const known = spelling.get(name) ?? spelling.get(`${parent}.${name}`);
  return known?.get(value.toLowerCase()) ?? value;
}

const linked = /^(?:id|sourceResourceId|diskEncryptionSetId|diskAccessId|.+ReferenceId)$/;

/** Refuses an id of another resource that is only a part of one. */
export function checkLinks(value: unknown, path: string): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkLinks(item, `${path}[${index}]`);
  }
  if (!isObject(value)) return;
  for (const [name, field] of Object.entries(value)) {
    if (free.has(name)) continue;
    const at = `${path}.${name}`;
    if (typeof field !== 'string' || !linked.test(name)) checkLinks(field, at);
    else if (!/^\/(?:subscriptions|providers)\//i.test(field)) throw unlinked(field, at);
  }
}

function unlinked(id: string, path: string): ArmError {
  return new ArmError(
    400,
    'LinkedInvalidPropertyId',
    `Property id '${id}' at path '${path}' is invalid. Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'.`,
  );
}
