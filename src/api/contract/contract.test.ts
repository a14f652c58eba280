// Rules that hold for every endpoint of the contract.
import { describe, expect, test } from 'vitest';
import { roles } from '../../domain/access/roles.ts';
import { addresses } from './addresses.generated.ts';
import { contractOf, endpointNames, isWrite, queryOf } from './contract.ts';

describe.each(endpointNames.map((name) => [name, contractOf(name)] as const))('%s', (_, endpoint) => {
  test('has exactly the parameters of its path', () => {
    const named = [...endpoint.url.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    expect(Object.keys(endpoint.path?.shape ?? {})).toEqual(named);
  });

  test('reads with GET and writes with another method', () => {
    expect(endpoint.method === 'GET').toBe(endpoint.effect === 'read');
  });

  test('does not let a viewer write', () => {
    expect(roles).toContain(endpoint.role);
    if (isWrite(endpoint)) expect(endpoint.role).not.toBe('viewer');
  });

  test('accepts a dry run if it writes, and only then', () => {
    expect('dryRun' in queryOf(endpoint).shape).toBe(isWrite(endpoint));
    expect('whenBusy' in queryOf(endpoint).shape).toBe(endpoint.effect === 'operation');
  });
});

test('the generated addresses are those of the contract', () => {
  const declared = endpointNames.map((name) => [name, `${contractOf(name).method} ${contractOf(name).url}`]);
  expect(addresses).toEqual(Object.fromEntries(declared));
});

test('no two endpoints share method and path', () => {
  const places = Object.values(addresses);
  expect(new Set(places).size).toBe(places.length);
});
