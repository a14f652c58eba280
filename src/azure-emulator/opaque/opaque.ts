// Resources that the emulator keeps but does not understand: networks, keys, placement groups. They are echoed.
import { type Document, shown, stableId, tenant } from '../arm/documents.ts';
import type { Call, Route } from '../arm/face.ts';
import { isObject, type Json, listAt, merge, part } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { accepted, page, readLocation, requireDocument, timed } from '../arm/resource.ts';
import { ownName } from '../arm/resource-id.ts';

/** How Azure spells the types, by their lower case. */
const spelled = new Map(
  [
    'Microsoft.Network/virtualNetworks, Microsoft.Network/virtualNetworks/subnets, Microsoft.Network/networkInterfaces',
    'Microsoft.Network/networkSecurityGroups, Microsoft.Network/publicIPAddresses, Microsoft.Network/loadBalancers',
    'Microsoft.Network/natGateways, Microsoft.Network/loadBalancers/inboundNatRules, Microsoft.Storage/storageAccounts',
    'Microsoft.ManagedIdentity/userAssignedIdentities, Microsoft.Authorization/roleAssignments',
    'Microsoft.Authorization/locks, Microsoft.KeyVault/vaults, availabilitySets, proximityPlacementGroups',
    'diskEncryptionSets, diskAccesses, sshPublicKeys, hostGroups, capacityReservationGroups, restorePointCollections',
  ]
    .join(', ')
    .split(', ')
    .map((type) => [type.toLowerCase(), type]),
);

/** Those that are made within the request, and show no state. */
const stateless = new Set(['proximityPlacementGroups', 'availabilitySets', 'sshPublicKeys', 'hostGroups']);

/** The budgets of those of Microsoft.Compute. */
const budgets = {
  proximityplacementgroups: {
    PUT: ['PutDeletePPGSubscriptionMaximum', 120],
    GET: ['HighCostGetSubscriptionMaximum', 900],
  },
  diskencryptionsets: { PUT: ['HighCostDiskEncryptionSet', 100, 300], GET: ['LowCostGet', 15_000, 120_000] },
} as const;

/** Returns the route of a type that is kept but not understood; `undefined` if the type is not one of them. */
export function opaqueRoute(type: string, method: string, isNamed: boolean): Route | undefined {
  const known = spelled.get(type);
  if (known === undefined && !type.startsWith('microsoft.')) return undefined;
  const answer = answers[`${method}${isNamed ? ' one' : ''}`];
  if (answer === undefined) return undefined;
  const budget = budgets[type as keyof typeof budgets]?.[method as 'GET'];
  return { ...(budget === undefined ? {} : { budget }), answer: (call) => answer(call, known ?? type) };
}

const answers: Readonly<Record<string, (call: Call, type: string) => Promise<Reply>>> = {
  'PUT one': put,
  'PATCH one': async (call, type) => {
    const { body, location } = requireDocument(call);
    return put({ ...call, body: { ...merge(body, call.body), location } }, type);
  },
  'GET one': async (call, type) => {
    const seen = view(call, requireDocument(call), type);
    if (type !== 'proximityPlacementGroups') return { status: 200, body: seen };
    const members = { virtualMachines: [], virtualMachineScaleSets: [], availabilitySets: [] };
    return { status: 200, body: merge(seen, { properties: members }) };
  },
  async GET(call, type) {
    const { address, face } = call;
    const found = address.group === '' ? face.documents.ofType(type) : face.documents.inside(address.id);
    return page(
      call,
      found.map((one) => view(call, one, type)),
    );
  },
  async 'DELETE one'(call) {
    const found = call.face.documents.get(call.address.id);
    call.face.documents.delete(call.address.id);
    return { status: found === undefined ? 204 : 200 };
  },
};

async function put(call: Call, type: string): Promise<Reply> {
  const { face, address, body } = call;
  const known = face.documents.get(address.id);
  const location = typeof body.location === 'string' || known !== undefined ? readLocation(body, known) : '';
  const { location: _, id: _id, name: _name, type: _type, etag: _etag, ...rest } = body;
  const etag =
    type.includes('.') && !type.startsWith('Microsoft.Authorization')
      ? { etag: `W/"${stableId(address.id, String(face.clock.now()))}"` }
      : {};
  const content = { ...rest, ...etag, properties: completed(call, type, part(body, 'properties')) };
  const document = {
    id: address.id,
    group: address.group,
    type,
    name: ownName(address),
    location,
    body: content,
  };
  face.documents.set(document);
  keepChildren(call, type, content.properties);
  const shownBody = view(call, document, type);
  if (type !== 'diskEncryptionSets' && type !== 'diskAccesses') {
    const isNew = known === undefined && type !== 'availabilitySets';
    return { status: isNew ? 201 : 200, body: shownBody };
  }
  const state = timed(call, face.clock.now() + 1_000, () => view(call, document, type));
  const first = {
    location,
    ...rest,
    properties: { ...part(body, 'properties'), provisioningState: 'Updating' },
  };
  return accepted(call, 202, { poll: 'DiskOperations', location, monitored: true, state }, first);
}

/** What clients read of a resource that they did not send. */
function completed({ face, address }: Call, type: string, given: Json): Json {
  const id = stableId(address.id);
  if (type === 'proximityPlacementGroups') return { proximityPlacementGroupType: 'Standard', ...given };
  if (type === 'availabilitySets') {
    const domains = { platformUpdateDomainCount: 5, platformFaultDomainCount: 2 };
    return { ...domains, virtualMachines: [], ...given };
  }
  if (type === 'diskEncryptionSets') return { encryptionType: 'EncryptionAtRestWithCustomerKey', ...given };
  if (type === 'Microsoft.Network/loadBalancers') {
    const lists = { inboundNatRules: [], inboundNatPools: [], outboundRules: [], probes: [] };
    return { ...lists, loadBalancingRules: [], backendAddressPools: [], ...given };
  }
  if (type === 'Microsoft.Network/publicIPAddresses')
    return { ipAddress: `20.0.${parseInt(id.slice(0, 2), 16)}.${parseInt(id.slice(2, 4), 16)}`, ...given };
  if (type === 'Microsoft.ManagedIdentity/userAssignedIdentities')
    return { tenantId: tenant, principalId: id, clientId: stableId(id), ...given };
  if (type === 'Microsoft.Network/networkInterfaces') {
    const ipConfigurations = listAt(given, 'ipConfigurations')
      .filter(isObject)
      .map((one) => ({
        ...one,
        properties: {
          privateIPAddress: `10.0.0.${(face.documents.ofType(type).length % 250) + 4}`,
          ...part(one, 'properties'),
        },
      }));
    return {
      macAddress: `00-0D-3A-${id.slice(0, 2)}-${id.slice(2, 4)}-${id.slice(4, 6)}`.toUpperCase(),
      ...given,
      ipConfigurations,
    };
  }
  return given;
}

/** Subnets and pools are resources of their own, which clients name by id. */
function keepChildren({ face, address }: Call, type: string, properties: Json): void {
  for (const [kind, list] of Object.entries(properties)) {
    if (!Array.isArray(list) || !type.startsWith('Microsoft.Network/')) continue;
    for (const child of list.filter(isObject)) {
      if (typeof child.name !== 'string') continue;
      const id = `${address.id}/${kind}/${child.name}`;
      const body = { ...child, properties: part(child, 'properties') };
      face.documents.set({
        id,
        group: address.group,
        type: `${type}/${kind}`,
        name: child.name,
        location: '',
        body,
      });
    }
  }
}

function view({ face }: Call, document: Document, type: string): Json {
  const seen = shown(document);
  if (stateless.has(type)) {
    const { provisioningState: _, ...properties } = part(seen, 'properties');
    return { ...seen, properties };
  }
  if (!type.startsWith('Microsoft.Network/')) return seen;
  const properties: Record<string, unknown> = { ...part(seen, 'properties') };
  for (const kind of Object.keys(properties)) {
    const children = face.documents.inside(`${document.id}/${kind}`);
    if (children.length > 0) properties[kind] = children.map((child) => shown(child));
  }
  return { ...seen, properties };
}
