import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readPublicKeys } from './read-public-keys.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const invalid = expect.objectContaining({ code: 'key-invalid' });

describe('public keys of a file', () => {
  test('PEM, one or several, with any text around them', () => {
    expect(readPublicKeys(pem, 'a')).toEqual([{ publicKey: pem }]);
    expect(readPublicKeys(`of the farm:\n${pem}and\n${pem}`, 'a')).toHaveLength(2);
  });

  test('what another installation lists, with the time of each key, and none that it only trusts', () => {
    const own = { id: 'x', publicKey: pem, validFrom: '2026-01-01T00:00:00Z', signs: false };
    const ended = { ...own, validUntil: '2026-02-01T00:00:00Z' };
    const leaked = { ...own, revoked: 'it leaked' };
    const items = [ended, leaked, { ...own, owner: 'another installation' }];
    expect(readPublicKeys(JSON.stringify({ items, next: null }), 'a')).toEqual([
      { publicKey: pem, validFrom: own.validFrom, validUntil: ended.validUntil },
      { publicKey: pem, validFrom: own.validFrom, revoked: 'it leaked' },
    ]);
    expect(readPublicKeys(JSON.stringify(own), 'a')).toHaveLength(1);
  });

  test('a private key is refused in every form, and not repeated in the message', () => {
    for (const text of [secret, `${pem}${secret}`, JSON.stringify({ publicKey: secret })]) {
      expect(() => readPublicKeys(text, 'a')).toThrow(invalid);
      expect(() => readPublicKeys(text, 'a')).not.toThrow(secret.split('\n')[1]);
    }
  });

  test.each(['', 'ssh-ed25519 AAAA', '{', '{}', '{"items":[]}', '{"items":[1,null]}', '[]'])(
    '%j has none',
    (text) => {
      expect(() => readPublicKeys(text, 'a')).toThrow(invalid);
    },
  );
});
