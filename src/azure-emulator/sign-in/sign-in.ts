// What clients ask before their first real request: where everything is, who signs in, and which subscriptions there are.
import { ArmError } from '../arm/arm-error.ts';
import { tenant } from '../arm/documents.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { regionNames } from '../arm/regions.ts';
import type { Tokens } from './tokens.ts';

/** Answers without a token; `undefined` if the path is not about sign-in. */
export function answerSignIn(
  path: string,
  origin: string,
  form: URLSearchParams,
  tokens: Tokens,
): Reply | undefined {
  if (path === '/aliases.json') return { status: 200, body: aliases };
  if (path === '/metadata/endpoints') return { status: 200, body: endpoints(origin) };
  if (path === '/common/discovery/instance') {
    return {
      status: 200,
      body: {
        tenant_discovery_endpoint: `${origin}/${tenant}/v2.0/.well-known/openid-configuration`,
        metadata: [],
      },
    };
  }
  const [, named, kind] =
    /^\/([^/]+)\/(?:v2\.0\/)?(\.well-known\/openid-configuration|oauth2(?:\/v2\.0)?\/token)$/.exec(path) ??
    [];
  if (named === undefined || kind === undefined) return undefined;
  return kind.endsWith('token')
    ? issue(form, tokens)
    : { status: 200, body: discovery(`${origin}/${named}`) };
}

/** Short names of images, which `az` reads from here. */
const aliases = {
  outputs: {
    aliases: {
      value: {
        Linux: {
          Debian11: { publisher: 'Debian', offer: 'debian-11', sku: '11-backports-gen2', version: 'latest' },
          Ubuntu2204: {
            publisher: 'Canonical',
            offer: '0001-com-ubuntu-server-jammy',
            sku: '22_04-lts-gen2',
            version: 'latest',
          },
        },
        Windows: {
          Win2022Datacenter: {
            publisher: 'MicrosoftWindowsServer',
            offer: 'WindowsServer',
            sku: '2022-datacenter-g2',
            version: 'latest',
          },
        },
      },
    },
  },
};

function issue(form: URLSearchParams, tokens: Tokens): Reply {
  const client = form.get('client_id') ?? '';
  const proof = form.get('client_secret') ?? form.get('client_assertion') ?? form.get('refresh_token') ?? '';
  if (client === '' || proof === '') {
    const error_description = 'AADSTS7000216: client_id and client_secret or client_assertion are required.';
    return { status: 401, body: { error: 'invalid_client', error_description, error_codes: [7_000_216] } };
  }
  const { token, expiresIn } = tokens.issue(client);
  const times = { expires_in: expiresIn, ext_expires_in: expiresIn };
  return { status: 200, body: { token_type: 'Bearer', ...times, access_token: token } };
}

function discovery(authority: string): Json {
  return {
    token_endpoint: `${authority}/oauth2/v2.0/token`,
    authorization_endpoint: `${authority}/oauth2/v2.0/authorize`,
    device_authorization_endpoint: `${authority}/oauth2/v2.0/devicecode`,
    issuer: `${authority}/v2.0`,
  };
}

function endpoints(origin: string): Json {
  return {
    name: 'ImagoEmulator',
    resourceManager: origin,
    gallery: origin,
    graph: origin,
    activeDirectoryDataLake: origin,
    authentication: {
      loginEndpoint: origin,
      audiences: [origin, 'https://management.azure.com'],
      tenant: 'common',
      identityProvider: 'AAD',
    },
    suffixes: { storage: 'core.windows.net', keyVaultDns: 'vault.azure.net' },
  };
}

/** Answers for tenants, subscriptions, regions and resource groups; `undefined` for everything else. */
export function answerSubscription(
  { method, path, body }: { readonly method: string; readonly path: string; readonly body: Json },
  subscriptions: readonly string[],
  groups: Map<string, Json>,
): Reply | undefined {
  if (path === '/tenants')
    return { status: 200, body: { value: [{ id: `/tenants/${tenant}`, tenantId: tenant }] } };
  if (path === '/subscriptions') return { status: 200, body: { value: subscriptions.map(subscriptionOf) } };
  const [, subscription = '', rest = '', group] =
    /^\/subscriptions\/([^/]+)(\/locations|\/resourcegroups(?:\/([^/]+))?)?$/i.exec(path) ?? [];
  if (subscription === '') return undefined;
  if (rest === '') return { status: 200, body: subscriptionOf(subscription) };
  if (rest === '/locations') {
    const value = [...regionNames].map(([name, displayName]) => ({ name, displayName, type: 'Region' }));
    return { status: 200, body: { value } };
  }
  if (group === undefined) {
    const own = [...groups].filter(([id]) => id.startsWith(`/subscriptions/${subscription.toLowerCase()}/`));
    return { status: 200, body: { value: own.map(([, one]) => one) } };
  }
  return answerGroup(method, path, group, body, groups);
}

function answerGroup(
  method: string,
  path: string,
  name: string,
  body: Json,
  groups: Map<string, Json>,
): Reply | undefined {
  const key = path.toLowerCase();
  const known = groups.get(key);
  if (method === 'PUT') {
    const made = {
      tags: {},
      ...body,
      id: path,
      name,
      type: 'Microsoft.Resources/resourceGroups',
      properties: { provisioningState: 'Succeeded' },
    };
    groups.set(key, made);
    return { status: known === undefined ? 201 : 200, body: made };
  }
  if (method === 'HEAD') return { status: known === undefined ? 404 : 204 };
  if (known === undefined) {
    throw new ArmError(404, 'ResourceGroupNotFound', `Resource group '${name}' could not be found.`);
  }
  if (method === 'GET') return { status: 200, body: known };
  return undefined;
}

function subscriptionOf(subscriptionId: string): Json {
  const id = `/subscriptions/${subscriptionId}`;
  return {
    id,
    subscriptionId,
    tenantId: tenant,
    homeTenantId: tenant,
    displayName: 'Imago emulator',
    state: 'Enabled',
    managedByTenants: [],
  };
}
