import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64 } from '../metadata/metadata.ts';
import { decodeUtf8, encodeUtf8 } from './utf8.ts';

describe('text without a library', () => {
  it('is encoded as TextEncoder does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(encodeUtf8(text)).toEqual(new Uint8Array(new TextEncoder().encode(text)));
      }),
    );
  });

  it('is decoded again, even if it is long', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text);
      }),
    );
    const long = 'ä€😀x'.repeat(5000);
    expect(decodeUtf8(encodeUtf8(long))).toBe(long);
  });

  it('never throws at bytes that are no text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = decodeUtf8(bytes);
        expect(text.isWellFormed()).toBe(true);
        const strict = decodeStrictly(bytes);
        if (strict !== undefined) expect(text).toBe(strict);
      }),
    );
  });
});

describe('base64', () => {
  it('is decoded as Buffer does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        expect(decodeBase64(text)).toEqual(bytes);
        expect(decodeBase64(`${text.slice(0, 4)}\n${text.slice(4)}\n`)).toEqual(bytes);
      }),
    );
  });

  it.each(['a', 'ab=c', 'a===', '{"a":1}', 'YQ=', '====', 'YQ\u0000='])('refuses %j', (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});

function decodeStrictly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
