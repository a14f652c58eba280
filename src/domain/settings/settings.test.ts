import { expect, test } from 'vitest';
import { parseAllowed, readSettings } from './settings.ts';

test.each([
  ['none', []],
  [
    'registry.local, 10.0.0.0/8 ,192.168.1.1,fd00::/8,::1',
    ['registry.local', '10.0.0.0/8', '192.168.1.1', 'fd00::/8', '::1'],
  ],
  ['Registry-1.Example.COM', ['registry-1.example.com']],
  ['0.0.0.0/0', ['0.0.0.0/0']],
])('%s names what recipes can reach', (text, allowed) => {
  expect(parseAllowed(text)).toEqual(allowed);
});

test.each([
  '10.0.0.0/33',
  '10.0.0.0/99',
  'fd00::/129',
  '10.0.0.300',
  '10.0.0',
  'registry.local/8',
  'registry.local:5000',
  '10.0.0.1,',
  '-x',
  'a b',
  '',
])('%j is refused when it is set, and not when the daemon starts', (text) => {
  expect(() => readSettings({ 'allow-addresses': text })).toThrow(
    expect.objectContaining({ code: 'setting-invalid', hint: expect.stringContaining('10.0.0.0/8') }),
  );
});
