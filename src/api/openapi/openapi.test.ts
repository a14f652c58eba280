// The OpenAPI document: whole, unambiguous, and the same as the copy in docs/.
import { expect, test } from 'vitest';
import { contractOf, type EndpointName, endpointNames } from '../contract/contract.ts';
import { openApiDocument } from './openapi.ts';

const document = openApiDocument();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

function references(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === '$ref' && typeof part === 'string' ? [part] : references(part),
  );
}

test('every endpoint has its address and its name', () => {
  expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual([...endpointNames].sort());
  for (const { path, method, operation } of operations) {
    const endpoint = contractOf(operation.operationId as EndpointName);
    expect([method.toUpperCase(), path]).toEqual([endpoint.method, endpoint.url]);
  }
});

test('every reference leads to a schema, and every schema is referred to', () => {
  const named = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  const used = new Set(references(document));
  expect([...used].filter((reference) => !named.includes(reference))).toEqual([]);
  expect(named.filter((reference) => !used.has(reference))).toEqual([]);
});

test('path parameters are those of the path and required, and no parameter is listed twice', () => {
  for (const { path, operation } of operations) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    expect(inPath.every(({ required }) => required)).toBe(true);
    const places = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
    expect(new Set(places).size).toBe(places.length);
  }
});

test('every error response is a problem document', () => {
  for (const { operation } of operations) {
    for (const status of ['4XX', '5XX']) {
      expect(operation.responses[status]?.content['application/problem+json']).toEqual({
        schema: { $ref: '#/components/schemas/Problem' },
      });
    }
  }
});

test('requests are closed and answers are open, so that old clients accept new fields', () => {
  const { CreatePoolRequest, Pool } = document.components.schemas;
  expect(CreatePoolRequest).toMatchObject({ additionalProperties: false });
  expect(Pool).not.toHaveProperty('additionalProperties');
});

test('it holds nothing but JSON, and no traces of how it was made', () => {
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  expect(JSON.stringify(document)).not.toMatch(/\$defs|\$schema|undefined/);
});
