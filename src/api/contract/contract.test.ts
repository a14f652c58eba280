// The table of addresses and the contract must say the same about every endpoint.
import { describe, expect, test } from 'vitest';
import { roles } from '../../domain/access/roles.ts';
import { contract, contractOf, isWrite, queryOf } from './contract.ts';
import { endpointNames, endpoints } from './endpoints.ts';

describe.each(endpointNames.map((name) => ({ name, ...endpoints[name], contract: contractOf(name) })))(
  '$name',
  ({ method, path, contract: endpoint }) => {
    test('names exactly the parameters of its path', () => {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      expect(Object.keys(endpoint.path?.shape ?? {})).toEqual(named);
    });

    test('reads with GET and writes with another method', () => {
      expect(method === 'GET').toBe(endpoint.effect === 'read');
    });

    test('lets no viewer write', () => {
      expect(roles).toContain(endpoint.role);
      if (isWrite(endpoint)) expect(endpoint.role).not.toBe('viewer');
    });

    test('takes a dry run if it writes, and only then', () => {
      expect('dryRun' in queryOf(endpoint).shape).toBe(isWrite(endpoint));
      expect('whenBusy' in queryOf(endpoint).shape).toBe(endpoint.effect === 'operation');
    });
  },
);

test('no endpoint is in the contract without an address', () => {
  expect(Object.keys(contract).sort()).toEqual([...endpointNames].sort());
});

test('no two endpoints share method and path', () => {
  const places = endpointNames.map((name) => `${endpoints[name].method} ${endpoints[name].path}`);
  expect(new Set(places).size).toBe(places.length);
});
