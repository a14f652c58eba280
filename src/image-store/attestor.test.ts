// Which signed statements are still valid, and that a new signature is by the current key.
import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { KeyFolder, SigningKey } from '../oci/signatures/key-folder.ts';
import { openPrivateKey } from '../oci/signatures/key-folder.ts';
import { addKey, type Keyring, revokeKey } from '../oci/signatures/keyring.ts';
import { createAttestor } from './attestor.ts';

function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return openPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

function withKey(ring: Keyring, key: SigningKey, from: string): Keyring {
  return addKey(ring, key.publicKey.export({ type: 'spki', format: 'pem' }).toString(), from);
}

const [old, young] = [newKey(), newKey()];
const february = '2026-02-01T00:00:00Z';
const request = {
  ...{ digest: `sha256:${'1'.repeat(64)}`, name: 'node:1.0.0' },
  ...{ predicateType: 'urn:test', predicate: { move: 1 } },
};
let ring: Keyring;
let signs: SigningKey | undefined;

const attestor = createAttestor({
  store: async () => {
    throw new Error('Nothing is stored.');
  },
  keys: { keyring: async () => ring, signer: async () => signs } as unknown as KeyFolder,
  passphrase: undefined,
  now: () => Date.parse('2026-03-01T00:00:00Z'),
  has: async () => false,
});

beforeEach(() => {
  ring = withKey({ keys: [] }, old, '2026-01-01T00:00:00Z');
  signs = old;
});

async function attest(): Promise<string> {
  const envelope = await attestor.attest(request);
  if (envelope === undefined) throw new Error('No key signs.');
  return envelope;
}

test('a statement counts in the time of its key and after it, and no more once the key is revoked', async () => {
  const envelope = await attest();
  expect(await attestor.problem(envelope)).toBeUndefined();
  ring = withKey(ring, young, february);
  expect(await attestor.problem(envelope)).toBeUndefined();
  ring = revokeKey(ring, old.id, 'it leaked');
  expect(await attestor.problem(envelope)).toBe('its key was revoked: it leaked');
  signs = young;
  expect(await attestor.problem(await attest())).toBeUndefined();
});

test('a statement without a known signer, a changed one, and anything else than an envelope are invalid', async () => {
  const envelope = await attest();
  const changed = JSON.parse(envelope) as { payload: string };
  const text = Buffer.from(changed.payload, 'base64').toString().replace('"move":1', '"move":2');
  changed.payload = Buffer.from(text).toString('base64');
  const unknown = 'no key that is trusted here made it';
  expect(await attestor.problem(JSON.stringify(changed))).toBe(unknown);
  expect(await attestor.problem('{}')).toBe('it cannot be read');
  ring = withKey({ keys: [] }, young, february);
  expect(await attestor.problem(envelope)).toBe(unknown);
});

test('without a key nothing is signed', async () => {
  signs = undefined;
  expect(await attestor.ready()).toBe(false);
  expect(await attestor.attest(request)).toBeUndefined();
});
