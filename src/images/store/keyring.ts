// Which keys may sign, and since when. Keys are added and ended, never taken out, so that what an old key
// signed in its time can still be checked; a key that leaked is revoked, and nothing it signed counts.
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ImagoError } from '../../domain/errors.ts';

export interface TrustedKey {
  /** The start of the sha256 of the public key. */
  readonly id: string;
  /** PEM. */
  readonly publicKey: string;
  /** ISO time. */
  readonly validFrom: string;
  /** ISO time after which it signs nothing new. */
  readonly validUntil?: string | undefined;
  /** Why nothing that it signed counts any more. */
  readonly revoked?: string | undefined;
}

export interface Keyring {
  /** In the order of `validFrom`. */
  readonly keys: readonly TrustedKey[];
}

const schema = z.strictObject({
  keys: z.array(
    z.strictObject({
      id: z.string().regex(/^[0-9a-f]{16}$/),
      publicKey: z.string(),
      validFrom: z.iso.datetime(),
      validUntil: z.iso.datetime().optional(),
      revoked: z.string().optional(),
    }),
  ),
});

/** Throws `key-invalid` for anything but a keyring whose keys are ECDSA P-256 and named rightly. */
export function parseKeyring(text: string): Keyring {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ImagoError('key-invalid', 'the keyring is not JSON', { cause });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new ImagoError('key-invalid', `the keyring is malformed: ${parsed.error.issues[0]?.message}`);
  }
  for (const key of parsed.data.keys) {
    if (keyId(parsePublicKey(key.publicKey)) === key.id) continue;
    throw new ImagoError('key-invalid', `key ${key.id} of the keyring is not the key that it says it is`);
  }
  return { keys: parsed.data.keys.toSorted(byStart) };
}

export function parsePublicKey(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw new ImagoError('key-invalid', 'a public key cannot be read', { cause });
  }
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new ImagoError('key-invalid', 'a public key is not ECDSA on the curve P-256');
}

export function keyId(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);
}

/** Adds a key; those before it sign nothing new from then on. A key that is there already is left as it is. */
export function addKey(ring: Keyring, publicKey: string, validFrom: string): Keyring {
  const id = keyId(parsePublicKey(publicKey));
  if (ring.keys.some((key) => key.id === id)) return ring;
  const ended = ring.keys.map((key) =>
    key.validUntil === undefined && Date.parse(key.validFrom) <= Date.parse(validFrom)
      ? { ...key, validUntil: validFrom }
      : key,
  );
  const keys = [...ended, { id, publicKey, validFrom }];
  return { keys: keys.toSorted(byStart) };
}

/** Throws `key-not-found` when the ring has no such key. Revoking again keeps the first reason. */
export function revokeKey(ring: Keyring, id: string, reason: string): Keyring {
  if (!ring.keys.some((key) => key.id === id))
    throw new ImagoError('key-not-found', `the keyring has no key ${id}`);
  return { keys: ring.keys.map((key) => (key.id === id ? { ...key, revoked: key.revoked ?? reason } : key)) };
}

/** The key to sign with at a time; `undefined` when none may. */
export function signingKey(ring: Keyring, at: string): TrustedKey | undefined {
  return ring.keys.findLast((key) => isTrustedAt(key, at));
}

/**
 * Whether what the key signed counts. With the time of signing (which the signer states, in whole seconds) it
 * must lie in the key's time; without one, only revocation speaks against it.
 */
export function isTrustedAt(key: TrustedKey, signedAt: string | undefined): boolean {
  if (key.revoked !== undefined) return false;
  if (signedAt === undefined) return true;
  const time = seconds(signedAt);
  return seconds(key.validFrom) <= time && (key.validUntil === undefined || time < seconds(key.validUntil));
}

function seconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

function byStart(a: TrustedKey, b: TrustedKey): number {
  return Date.parse(a.validFrom) - Date.parse(b.validFrom);
}
