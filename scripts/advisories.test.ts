import { expect, test } from 'vitest';
import { advisoriesUnknown } from './advisories.ts';

test('reports a registry that refuses the request, without its address', async () => {
  const refused = { message: '405 Method Not Allowed - POST https://registry.example/-/npm/v1/security' };
  expect(await advisoriesUnknown(async () => JSON.stringify(refused))).toBe(
    'the registry does not answer for advisories (405 Method Not Allowed)',
  );
  expect(await advisoriesUnknown(async () => '{"message":"connect ECONNREFUSED"}')).toBe(
    'the registry does not answer for advisories',
  );
  expect(await advisoriesUnknown(async () => 'hello')).toBe('the output of `npm audit` cannot be read');
});

test('leaves the verdict to `npm audit` if the registry answers, with or without advisories', async () => {
  expect(await advisoriesUnknown(async () => '{"vulnerabilities":{}}')).toBeUndefined();
  expect(await advisoriesUnknown(async () => '{"vulnerabilities":{"left-pad":{}}}')).toBeUndefined();
});
