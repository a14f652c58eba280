import { describe, expect, test } from 'vitest';
import { isLoopback, parseRegistryReference } from './reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;

describe('references into registries', () => {
  test.each([
    ['registry.example/node', { registry: 'registry.example', repository: 'node' }],
    ['registry.example:5000/team/node:1.34.2', { repository: 'team/node', tag: '1.34.2' }],
    [`127.0.0.1:5000/node@${digest}`, { registry: '127.0.0.1:5000', digest }],
    [
      `[::1]:5000/a__b/c-d.e:v1@${digest}`,
      { registry: '[::1]:5000', repository: 'a__b/c-d.e', tag: 'v1', digest },
    ],
  ])('%s is parsed', (text, expected) => {
    expect(parseRegistryReference(text)).toMatchObject(expected);
  });

  test.each([
    'node',
    'registry.example/',
    'registry.example/Node',
    'registry.example/node:',
    'registry.example/node:with space',
    'registry.example/node@sha256:abc',
    `registry.example/node@${digest}@${digest}`,
    'https://registry.example/node',
    'user:secret@registry.example/node',
    '../../etc/passwd',
    'registry.example/../node',
  ])('%s is refused', (text) => {
    expect(() => parseRegistryReference(text)).toThrow(
      expect.objectContaining({ code: 'reference-malformed' }),
    );
  });

  test('only this machine itself counts as loopback', () => {
    expect(['localhost:5000', '127.0.0.1', '[::1]:80'].every(isLoopback)).toBe(true);
    expect(['localhost.example', '127.0.0.1.example', '10.0.0.1'].some(isLoopback)).toBe(false);
  });
});
