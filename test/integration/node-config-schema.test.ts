// The JSON Schema of the node config, judged by a validator of its own: it takes what Imago takes, and refuses what
// Imago refuses in single fields.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { fetchSchemas } from '../../scripts/get-schemas.ts';
import { checkNodeConfig, strictRules } from '../../src/domain/node-config/read-node-config.ts';

type Validate = ((value: unknown) => boolean) & { readonly errors?: unknown };

const root = join(import.meta.dirname, '..', '..');
const examples = join(root, 'examples', 'node-config');
let validate: Validate;

beforeAll(async () => {
  const require = createRequire(join(await fetchSchemas(), 'package.json'));
  const Ajv = require('ajv/dist/2020').default as new (
    options: object,
  ) => { compile(schema: object): Validate };
  const schema = JSON.parse(readFileSync(join(root, 'docs', 'node-config.schema.json'), 'utf8')) as object;
  validate = new Ajv({
    strict: true,
    keywords: ['x-cost'],
    allowUnionTypes: true,
    strictRequired: false,
    strictTypes: false,
  }).compile(schema);
});

describe('the published schema', () => {
  test.each(readdirSync(examples))('takes the example %s, as Imago does', (file) => {
    const value: unknown = parse(readFileSync(join(examples, file), 'utf8'));
    validate(value);
    expect(validate.errors).toBeNull();
    expect(checkNodeConfig(value, strictRules).problems).toEqual([]);
  });

  const one = { schemaVersion: 1 };
  test.each([
    ['no version', {}],
    ['an unknown version', { schemaVersion: 9 }],
    ['an unknown field', { ...one, nodes: {} }],
    ['an unknown field inside', { ...one, node: { nam: 'x' } }],
    ['text for a number', { ...one, kubelet: { maxPods: '110' } }],
    ['a number out of range', { ...one, kubelet: { maxPods: 0 } }],
    ['a wrong choice', { ...one, runtime: { cgroupDriver: 'none' } }],
    ['a missing field', { ...one, kubernetes: { apiServer: 'https://api.example.com' } }],
    [
      'both sources of credentials',
      { ...one, kubernetes: { bootstrap: { token: 'secret:a', identity: {} } } },
    ],
    ['a token that is none', { ...one, kubernetes: { bootstrap: { token: 'hunter2' } } }],
    ['a line break in one line', { ...one, system: { sysctl: { 'kernel.panic': '1\nvm.swappiness = 2' } } }],
    ['a name of a parameter that is none', { ...one, system: { sysctl: { panic: 1 } } }],
    ['a relative path', { ...one, files: [{ path: 'etc/x', content: '' }] }],
    ['a path that climbs', { ...one, files: [{ path: '/etc/../x', content: '' }] }],
    [
      'a hotfix without sha256',
      { ...one, hotfixes: [{ component: 'a', version: '1', source: 'https://example.com/a' }] },
    ],
    ['a password in an address', { ...one, network: { proxy: { http: 'http://me:secret@example.com' } } }],
    ['a registry without mirrors', { ...one, runtime: { mirrors: { 'example.com': [] } } }],
    ['a list for an object', { ...one, node: [] }],
    ['null', { ...one, node: null }],
  ])('refuses %s, as Imago does', (_, value) => {
    expect(validate(value)).toBe(false);
    expect(checkNodeConfig(value, strictRules).problems).not.toEqual([]);
  });
});
