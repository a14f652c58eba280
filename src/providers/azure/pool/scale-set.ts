// A pool as a scale set: what is sent to make one, and what is read from one.
import { generateKeyPairSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { invalid } from '../../../domain/error/refusals.ts';
import type { PoolModel, PoolSpec, ProviderPool } from '../../../ports/provider/pools.ts';
import { at, namesIn } from '../arm/address.ts';
import type { Body, Resource, WirePool } from '../arm/wire.ts';
import { type AzureContext, stateOf, toRegion } from '../context.ts';

export type ScaleSet = Resource<WirePool>;

/** Tags of Imago: all others are the user's, and stay. */
const tags = { made: 'imago-made', digest: 'imago-digest', own: 'imago-tags' } as const;
const largestUserData = 64 * 1024;

export function imageIdOf({ arm, ownGallery }: AzureContext, model: PoolModel): string {
  const { gallery = ownGallery, image, version } = model;
  return arm.idOf(at('galleries/images/versions', gallery, image, version));
}

export function isPool({ tags: found }: ScaleSet): boolean {
  return found?.[tags.made] === 'pool';
}

/** Names of the tags that belong to the model are kept in a tag, so that a change removes only those. */
export function tagsOf(model: PoolModel, before: ScaleSet['tags'] = {}): Readonly<Record<string, string>> {
  const old = new Set([...(before[tags.own] ?? '').split(','), ...Object.values(tags)]);
  const others = Object.entries(before).filter(([name]) => !old.has(name));
  return {
    ...Object.fromEntries(others),
    ...model.tags,
    ...{ [tags.made]: 'pool', [tags.digest]: model.digest, [tags.own]: Object.keys(model.tags).join(',') },
  };
}

export function encodeConfig(nodeConfig: string): string {
  const text = Buffer.from(nodeConfig).toString('base64');
  if (text.length <= largestUserData) return text;
  throw invalid(`The node config has ${text.length} bytes as user data, and Azure takes ${largestUserData}.`);
}

export function decodeConfig(userData: string | undefined): string {
  return Buffer.from(userData ?? '', 'base64').toString('utf8');
}

/** Returns the config of new nodes. */
export function modelConfigOf({ properties }: ScaleSet): string {
  return decodeConfig(properties.virtualMachineProfile?.userData);
}

/** With the config of its model. */
export function readSet(
  { arm }: AzureContext,
  name: string,
  signal: AbortSignal,
): Promise<ScaleSet | undefined> {
  return arm.get<ScaleSet>(at('virtualMachineScaleSets', name), signal, { $expand: 'userData' });
}

/** Azure fixes what is not in the model when the set is made: the network, and how machines sign in. */
export function bodyOf(context: AzureContext, spec: PoolSpec, subnet: string): Body<WirePool> {
  const { name, model, capacity } = spec;
  const isUniform = spec.orchestration === 'uniform';
  const ipConfigurations = [{ name: 'ip', properties: { subnet: { id: subnet }, primary: true } }];
  return {
    location: spec.region ?? context.location,
    tags: tagsOf(model),
    sku: { name: model.size, capacity },
    properties: {
      orchestrationMode: isUniform ? 'Uniform' : 'Flexible',
      singlePlacementGroup: false,
      ...(isUniform
        ? { upgradePolicy: { mode: 'Manual' }, overprovision: false }
        : { platformFaultDomainCount: 1 }),
      virtualMachineProfile: {
        userData: encodeConfig(model.nodeConfig),
        storageProfile: {
          imageReference: { id: imageIdOf(context, model) },
          osDisk: { createOption: 'FromImage', caching: 'ReadWrite' },
        },
        osProfile: { computerNamePrefix: `${name}-`, adminUsername: 'imago', ...linuxKey() },
        networkProfile: {
          ...(isUniform ? {} : { networkApiVersion: '2020-11-01' }),
          networkInterfaceConfigurations: [
            { name: 'nic', properties: { primary: true, ipConfigurations } },
          ] as never,
        },
        diagnosticsProfile: { bootDiagnostics: { enabled: true } },
      },
    },
  };
}

/** Azure wants a key, and our images have no agent that would install it. Its private half is thrown away. */
function linuxKey() {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const part = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const modulus = Buffer.concat([Buffer.alloc(1), Buffer.from(n, 'base64url')]);
  const key = Buffer.concat([part(Buffer.from('ssh-rsa')), part(Buffer.from(e, 'base64url')), part(modulus)]);
  const keyData = `ssh-rsa ${key.toString('base64')}`;
  return {
    linuxConfiguration: {
      ...{ disablePasswordAuthentication: true, provisionVMAgent: false },
      ssh: { publicKeys: [{ path: '/home/imago/.ssh/authorized_keys', keyData }] },
    },
  };
}

function modelOf(found: ScaleSet, ownGallery: string): PoolModel {
  const { virtualMachineProfile: profile } = found.properties;
  const reference = profile?.storageProfile?.imageReference;
  const names = namesIn(reference?.id, 'galleries/images/versions');
  const [gallery, image = reference?.id ?? reference?.offer ?? '', version = reference?.version ?? ''] =
    names;
  const own = (found.tags?.[tags.own] ?? '').split(',').filter((name) => name !== '');
  return {
    ...(gallery === undefined || gallery === ownGallery ? {} : { gallery }),
    ...{ image, version, digest: found.tags?.[tags.digest] ?? '' },
    size: found.sku?.name ?? '',
    nodeConfig: decodeConfig(profile?.userData),
    tags: Object.fromEntries(own.map((name) => [name, found.tags?.[name] ?? ''])),
  };
}

/** The provider's own gallery is not named in a model that is read. */
export function hasModel(found: ScaleSet, { gallery, ...model }: PoolModel, ownGallery: string): boolean {
  const named = gallery === undefined || gallery === ownGallery ? {} : { gallery };
  return isDeepStrictEqual(modelOf(found, ownGallery), { ...named, ...model });
}

/** The capacity also changes when a node is deleted. */
export function etagOf({ etag, sku }: ScaleSet): string {
  return `${etag ?? ''} ${sku?.capacity ?? 0}`;
}

export function toPool(found: ScaleSet, ownGallery: string): ProviderPool {
  const { orchestrationMode, provisioningState } = found.properties;
  return {
    name: found.name,
    region: toRegion(found.location),
    orchestration: orchestrationMode === 'Flexible' ? 'flexible' : 'uniform',
    model: modelOf(found, ownGallery),
    capacity: found.sku?.capacity ?? 0,
    state: stateOf(provisioningState),
    etag: etagOf(found),
  };
}
