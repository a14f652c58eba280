import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import { formatReference, isDigest, parseReference, type Reference } from './reference.ts';

const hex = 'ab'.repeat(32);

function refused(text: string): ImagoError {
  try {
    parseReference(text);
  } catch (error) {
    if (error instanceof ImagoError) return error;
  }
  throw new Error(`${text} was accepted`);
}

describe('a version begins with a digit, a channel with a letter', () => {
  test.each<[string, Reference]>([
    ['node', { kind: 'image', image: 'node' }],
    ['node:1.34.2', { kind: 'version', image: 'node', version: '1.34.2' }],
    ['node:production', { kind: 'channel', image: 'node', channel: 'production' }],
    ['node:v1', { kind: 'channel', image: 'node', channel: 'v1' }],
    [`node@sha256:${hex}`, { kind: 'digest', image: 'node', digest: `sha256:${hex}` }],
  ])('%s', (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
  });
});

describe('what cannot be read is refused, with what was probably meant', () => {
  test.each([
    ['', undefined],
    [':', undefined],
    [':production', undefined],
    ['@sha256:00', undefined],
    ['Node', 'node'],
    ['node:', 'node'],
    ['node@', 'node'],
    [' node', 'node'],
    ['node ', 'node'],
    ['node\n', 'node'],
    ['node:1.34', 'node:1.34.0'],
    ['node:v1.34.2', 'node:1.34.2'],
    ['node:01.2.3', 'node:1.2.3'],
    ['node:1.2.3.4', 'node:1.2.3'],
    ['node@1.2.3', 'node:1.2.3'],
    ['node/1.2.3', 'node:1.2.3'],
    ['node 1.2.3', 'node:1.2.3'],
    ['node=1.2.3', 'node:1.2.3'],
    ['node:Production', 'node:production'],
    ['node@production', 'node:production'],
    ['node:3000000000.0.0', undefined],
    [`node:sha256:${hex}`, `node@sha256:${hex}`],
    [`node@${hex}`, `node@sha256:${hex}`],
    [`node@sha256:${hex.toUpperCase()}`, `node@sha256:${hex}`],
    [`node:1.2.3@sha256:${hex}`, `node@sha256:${hex}`],
    ['node@sha256:abc', undefined],
    [`node@sha256:${hex}0`, undefined],
    [`node@sha512:${hex}`, undefined],
  ])('%j', (text, likely) => {
    const error = refused(text);
    expect(error.code).toBe('reference-malformed');
    if (likely === undefined) expect(error.hint).toMatch(/^Write NAME/);
    else expect(error.hint).toBe(`Did you mean \`${likely}\`?`);
  });
});

const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,10}[a-z0-9])?$/);
const reference: fc.Arbitrary<Reference> = fc.oneof(
  fc.record({ kind: fc.constant('image' as const), image: name }),
  fc.record({
    kind: fc.constant('version' as const),
    image: name,
    version: fc.tuple(fc.nat(), fc.nat(), fc.nat()).map((parts) => parts.join('.')),
  }),
  fc.record({ kind: fc.constant('channel' as const), image: name, channel: name }),
  fc.record({
    kind: fc.constant('digest' as const),
    image: name,
    digest: fc.stringMatching(/^[0-9a-f]{64}$/).map((digits) => `sha256:${digits}`),
  }),
);

test('what is written can be read, and reads the same', () => {
  fc.assert(
    fc.property(reference, (value) => {
      expect(parseReference(formatReference(value))).toEqual(value);
    }),
  );
});

test('any text is a reference that is written back unchanged, or an error whose suggestion is a reference', () => {
  const noise = fc.string({ unit: fc.constantFrom(...'aB1.:@-/ sha256é\n'), maxLength: 20 });
  fc.assert(
    fc.property(fc.oneof(noise, fc.string({ unit: 'binary' })), (text) => {
      let read: Reference;
      try {
        read = parseReference(text);
      } catch (error) {
        expect(error).toMatchObject({ code: 'reference-malformed' });
        const suggested = /^Did you mean `(.*)`\?$/s.exec((error as ImagoError).hint ?? '')?.[1];
        if (suggested !== undefined) expect(formatReference(parseReference(suggested))).toBe(suggested);
        return;
      }
      expect(formatReference(read)).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test('a digest is sha256 and 64 small hexadecimal digits', () => {
  expect(isDigest(`sha256:${hex}`)).toBe(true);
  expect(isDigest(hex)).toBe(false);
  expect(isDigest(`sha256:${hex.toUpperCase()}`)).toBe(false);
});
