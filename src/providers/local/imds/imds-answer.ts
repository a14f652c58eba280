// The rules of Azure's instance metadata service: what is asked how, and what is refused.
import { type Answer, jsonAnswer, type MetadataRequest, readTarget, textAnswer } from './answer.ts';
import { apiVersions, isApiVersion, newestVersions } from './api-versions.ts';
import { findNode, type InterfaceFacts, instanceDocument, nodeText } from './instance-document.ts';
import type { TokenIssuer } from './local-token.ts';
import type { MachineMetadata } from './machine-metadata.ts';

export interface ImdsFacts {
  readonly metadata: MachineMetadata;
  readonly interfaces: readonly InterfaceFacts[];
  readonly tokens: TokenIssuer;
  readonly nowMs: number;
}

const TOKEN_SECONDS = 86_400;
const services: readonly string[] = ['versions', 'instance', 'identity'];

export function imdsAnswer(request: MetadataRequest, facts: ImdsFacts): Answer {
  if (request.headers['x-forwarded-for'] !== undefined)
    return refuse('Bad request. The X-Forwarded-For header is not allowed');
  if (request.headers.metadata?.toLowerCase() !== 'true')
    return refuse('Bad request. Required metadata header not specified');
  const target = readTarget(request.url);
  if (target === undefined) return refuse('Bad request. The path cannot be decoded');
  const [root, service, ...rest] = target.path;
  if (root !== 'metadata') return notFound();
  if (service === undefined || !services.includes(service)) return notFound();
  if (request.method !== 'GET') return jsonAnswer(405, { error: 'Method not allowed' });
  if (service === 'versions') return rest.length > 0 ? notFound() : jsonAnswer(200, { apiVersions });

  const version = target.query.get('api-version') ?? '';
  if (!isApiVersion(version)) return versionRefused(version);
  if (service === 'instance') return instanceAnswer(rest, target.query, version, facts);
  return rest.join('/') === 'oauth2/token' ? tokenAnswer(target.query, facts) : notFound();
}

function instanceAnswer(
  path: readonly string[],
  query: URLSearchParams,
  version: string,
  { metadata, interfaces }: ImdsFacts,
): Answer {
  const node = findNode(instanceDocument(metadata, interfaces, version), path);
  if (node === undefined) return notFound();
  const format = query.get('format')?.toLowerCase() ?? 'json';
  if (format === 'text') return textAnswer(nodeText(node));
  if (format !== 'json') return refuse('Bad request. Supported formats are json and text');
  if (typeof node === 'string') return refuse('Bad request. A leaf is given only with format=text');
  return jsonAnswer(200, node);
}

function tokenAnswer(query: URLSearchParams, { metadata, tokens, nowMs }: ImdsFacts): Answer {
  const resource = query.get('resource') ?? '';
  if (resource === '') return identityRefused('Required audience parameter not specified');
  const clientId = query.get('client_id');
  if ((clientId !== null && clientId !== metadata.machineId) || hasOtherIdentity(query))
    return identityRefused('Identity not found');
  const now = Math.floor(nowMs / 1000);
  const exp = now + TOKEN_SECONDS;
  const { machineId, name } = metadata;
  return jsonAnswer(200, {
    access_token: tokens.issue({ sub: machineId, name, aud: resource, nbf: now, exp }),
    client_id: machineId,
    expires_in: String(TOKEN_SECONDS),
    expires_on: String(exp),
    ext_expires_in: String(TOKEN_SECONDS),
    not_before: String(now),
    resource,
    token_type: 'Bearer',
  });
}

function hasOtherIdentity(query: URLSearchParams): boolean {
  return query.has('object_id') || query.has('msi_res_id') || query.has('mi_res_id');
}

function versionRefused(version: string): Answer {
  const what = version === '' ? 'was not specified in the request' : 'is not supported';
  return jsonAnswer(400, {
    error: `Bad request. api-version ${what}. For more information refer to aka.ms/azureimds`,
    'newest-versions': newestVersions(),
  });
}

function identityRefused(description: string): Answer {
  return jsonAnswer(400, { error: 'invalid_request', error_description: description });
}

function refuse(error: string): Answer {
  return jsonAnswer(400, { error });
}

function notFound(): Answer {
  return jsonAnswer(404, { error: 'Not found' });
}
