// Generates the OpenAPI 3.1 document from the contract.
import type * as z from 'zod';
import { contract, isWrite, queryOf } from '../contract/contract.ts';
import { type EndpointContract, tags } from '../contract/endpoint.ts';
import { plan, problem } from '../schemas/common.ts';
import { collectSchemas, type JsonSchema, type SchemaCollector } from './json-schema.ts';

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly 'x-imago-role': string;
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, unknown>>;
  };
}

export function openApiDocument(
  endpoints: Readonly<Record<string, EndpointContract>> = contract,
): OpenApiDocument {
  const schemas = collectSchemas('#/components/schemas/');
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const { method, url } = endpoint;
    paths[url] = { ...paths[url], [method.toLowerCase()]: operationObject(name, endpoint, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Imago',
      version: '1',
      summary: 'Manages the life of Kubernetes node images.',
      description:
        'The Unix socket needs no token. Over TCP, every path except this document and its page needs one. ' +
        'Lists are paged. Errors are problem documents (RFC 9457); docs/errors.md describes their codes.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries([...schemas.named].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operationObject(
  name: string,
  endpoint: EndpointContract,
  schemas: SchemaCollector,
): OpenApiOperation {
  const body = requestBody(endpoint, schemas);
  return {
    operationId: name,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: [endpoint.description, `Requires the role ${endpoint.role}.`].filter(Boolean).join(' '),
    'x-imago-role': endpoint.role,
    parameters: [
      ...(endpoint.path === undefined ? [] : parameters('path', endpoint.path, schemas)),
      ...parameters('query', queryOf(endpoint), schemas),
      ...headerParameters(endpoint),
    ],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responses(endpoint, schemas),
  };
}

function parameters(
  place: 'path' | 'query',
  object: z.ZodObject,
  schemas: SchemaCollector,
): readonly OpenApiParameter[] {
  const { properties = {}, required = [] } = schemas.add(object, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(typeof description === 'string' ? { description } : {}),
    schema,
  }));
}

function headerParameters(endpoint: EndpointContract): readonly OpenApiParameter[] {
  if (endpoint.stream === 'events') {
    return [header('Last-Event-ID', 'Resume after this event.', { type: 'string', pattern: '^\\d+$' })];
  }
  if (endpoint.passphrase) {
    return [header('Imago-Passphrase', 'Passphrase of the backup, in base64.', { type: 'string' })];
  }
  if (!isWrite(endpoint) || endpoint.stream === 'upload') return [];
  const says = 'A repeated request with the same key runs once and returns the same response.';
  return [header('Idempotency-Key', says, { type: 'string', minLength: 1, maxLength: 200 })];
}

function header(name: string, description: string, schema: JsonSchema): OpenApiParameter {
  return { name, in: 'header', required: false, description, schema };
}

function requestBody(endpoint: EndpointContract, schemas: SchemaCollector): OpenApiOperation['requestBody'] {
  if (endpoint.stream === 'upload' || endpoint.stream === 'duplex') {
    return { required: true, content: { 'application/octet-stream': { schema: {} } } };
  }
  if (endpoint.body === undefined) return undefined;
  const schema = schemas.add(endpoint.body, 'input');
  return { required: endpoint.bodyOptional !== true, content: { 'application/json': { schema } } };
}

function responses(endpoint: EndpointContract, schemas: SchemaCollector): OpenApiOperation['responses'] {
  const answer = schemas.add(endpoint.response, 'output');
  const planned = schemas.add(plan, 'output');
  const failed = { 'application/problem+json': { schema: schemas.add(problem, 'output') } };
  const wrong = { description: 'The error.', content: failed };
  const common = { '4XX': wrong, '5XX': wrong };
  if (endpoint.stream === 'events') {
    const description = 'The data of each event is a JSON document of this schema.';
    return { 200: { description, content: { 'text/event-stream': { schema: answer } } }, ...common };
  }
  if (endpoint.stream === 'download' || endpoint.stream === 'duplex') {
    return {
      200: {
        description: 'A stream of bytes.',
        content: { 'application/octet-stream': { schema: {} } },
      },
      ...common,
    };
  }
  if (!isWrite(endpoint)) return { 200: jsonAnswer('The response.', answer), ...common };
  if (endpoint.status === 200) {
    return {
      200: jsonAnswer('The result, or the plan of a dry run.', { oneOf: [answer, planned] }),
      ...common,
    };
  }
  const says = endpoint.effect === 'operation' ? 'The operation.' : 'Done.';
  return {
    200: jsonAnswer('The plan of a dry run.', planned),
    [endpoint.status]: jsonAnswer(says, answer),
    ...common,
  };
}

function jsonAnswer(description: string, schema: JsonSchema) {
  return { description, content: { 'application/json': { schema } } };
}
