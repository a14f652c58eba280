import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import type { Json } from './json.ts';

function shuffled(value: unknown, turn: number): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, turn));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const at = entries.length === 0 ? 0 : turn % entries.length;
  const turned = [...entries.slice(at), ...entries.slice(0, at)].reverse();
  return Object.fromEntries(turned.map(([key, item]) => [key, shuffled(item, turn)]));
}

test('keys are sorted by their UTF-16 units, and nothing is added', () => {
  expect(
    canonicalJson({ b: [1, { d: null, c: true }], a: 'x', '\u20ac': 1, '\ud83d\ude00': 2, '\ufb33': 3 }),
  ).toBe('{"a":"x","b":[1,{"c":true,"d":null}],"\u20ac":1,"\ud83d\ude00":2,"\ufb33":3}');
});

test('numbers are written as RFC 8785 writes them', () => {
  const numbers = [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 0, 1e21, 9007199254740991];
  expect(canonicalJson(numbers)).toBe('[333333333.3333333,1e+30,4.5,0.002,1e-27,0,0,1e+21,9007199254740991]');
});

test('an absent property and an undefined one are the same', () => {
  expect(canonicalJson({ a: 1, b: undefined })).toBe(canonicalJson({ a: 1 }));
});

const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });

test('the order of keys does not change the text', () => {
  fc.assert(
    fc.property(json, fc.nat(5), (value, turn) => {
      expect(canonicalJson(shuffled(value, turn) as Json)).toBe(canonicalJson(value as Json));
    }),
  );
});

test('the text says all that the value says', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value as Json))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

describe('what JSON would bend silently is refused', () => {
  const self: unknown[] = [];
  self.push(self);
  test.each<[string, unknown]>([
    ['NaN', { a: [Number.NaN] }],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a Date', { at: new Date(0) }],
    ['a Map', new Map()],
    ['undefined in a list', [undefined]],
    ['a hole in a list', new Array(1)],
    ['a function', { f: () => 1 }],
    ['a bigint', 1n],
    ['half a surrogate pair', 'a\ud800'],
    ['half a surrogate pair in a key', { '\udc00': 1 }],
    ['a value that contains itself', self],
  ])('%s', (_, value) => {
    expect(() => canonicalJson(value as Json)).toThrow(expect.objectContaining({ code: 'input-invalid' }));
  });

  test('and the error says where', () => {
    expect(() => canonicalJson({ a: [1, { b: Number.NaN }] })).toThrow('a.1.b');
  });
});
