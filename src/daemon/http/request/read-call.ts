// Reads a request by the contract of its endpoint.
import { queryOf } from '../../../api/contract/contract.ts';
import type { EndpointContract } from '../../../api/contract/endpoint.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Limits } from '../guard/limits.ts';
import { parseJsonBody, readBodyText, readOpenEnded, readUpload, requireMediaType } from './read-body.ts';
import { validate } from './validate.ts';

export interface ReadParts {
  readonly path: unknown;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** The body as it was sent, for the fingerprint. */
  readonly bodyText: string;
  readonly upload: AsyncIterable<Uint8Array>;
}

export async function readParts(
  endpoint: EndpointContract,
  request: Request,
  params: Readonly<Record<string, string>>,
  limits: Limits,
): Promise<ReadParts> {
  const path = endpoint.path === undefined ? {} : validate(endpoint.path, params, 'The path');
  const query = validate(queryOf(endpoint), readQuery(request), 'The query');
  if (endpoint.stream === 'upload') {
    requireMediaType(request, 'application/octet-stream');
    return { path, query, body: undefined, bodyText: '', upload: readUpload(request, limits) };
  }
  if (endpoint.stream === 'duplex') {
    requireMediaType(request, 'application/octet-stream');
    return { path, query, body: undefined, bodyText: '', upload: readOpenEnded(request) };
  }
  const { body, text } = await readJson(endpoint, request, limits);
  return { path, query, body, bodyText: text, upload: nothing() };
}

async function readJson(
  endpoint: EndpointContract,
  request: Request,
  limits: Limits,
): Promise<{ readonly body: unknown; readonly text: string }> {
  if (endpoint.effect === 'read') return { body: undefined, text: '' };
  const text = await readBodyText(request, limits);
  if (endpoint.body === undefined) {
    if (text.trim() === '') return { body: undefined, text };
    throw new ImagoError('input-invalid', 'This endpoint does not accept a body.');
  }
  if (text === '' && endpoint.bodyOptional) return { body: validate(endpoint.body, {}, 'The body'), text };
  requireMediaType(request, 'application/json');
  return { body: validate(endpoint.body, parseJsonBody(text), 'The body'), text };
}

function readQuery(request: Request): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [key, value] of new URL(request.url).searchParams) {
    if (Object.hasOwn(query, key)) throw new ImagoError('input-invalid', `The query has ${key} twice.`);
    query[key] = value;
  }
  return query;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
