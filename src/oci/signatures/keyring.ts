// Which keys may sign, and since when. Keys are added and ended, never taken out, so that what an old key
// signed in its time can still be checked; a key that leaked is revoked, and nothing it signed counts.
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { ForeignKey } from '../../ports/image-store/signing-keys.ts';

export interface TrustedKey {
  /** The start of the sha256 of the public key. */
  readonly id: string;
  /** PEM. */
  readonly publicKey: string;
  /** Whose it is, if not this installation's: it signs nothing here. */
  readonly owner?: string | undefined;
  /** ISO time. */
  readonly validFrom: string;
  /** ISO time after which it signs nothing new. */
  readonly validUntil?: string | undefined;
  /** The reason for which nothing that it signed is valid anymore. */
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
      owner: z.string().optional(),
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

/** Throws `key-invalid`, also for a private key: none belongs where public ones are read. */
export function parsePublicKey(pem: string): KeyObject {
  if (pem.includes('PRIVATE KEY'))
    throw new ImagoError('key-invalid', 'a private key was given where a public one belongs');
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

/** Adds a key of one's own; those before it sign nothing new from then on. One that is there already stays as it is. */
export function addKey(ring: Keyring, publicKey: string, validFrom: string): Keyring {
  const id = keyId(parsePublicKey(publicKey));
  if (ring.keys.some((key) => key.id === id)) return ring;
  const ended = ring.keys.map((key) =>
    key.owner === undefined &&
    key.validUntil === undefined &&
    Date.parse(key.validFrom) <= Date.parse(validFrom)
      ? { ...key, validUntil: validFrom }
      : key,
  );
  const keys = [...ended, { id, publicKey, validFrom }];
  return { keys: keys.toSorted(byStart) };
}

/** The start of validity of a key that has none. */
const always = '1970-01-01T00:00:00.000Z';

/**
 * Trusts a key of another installation. The same key again updates what is known of it. Throws `key-own` for a
 * key of one's own, and `key-revoked` when it was revoked and is given as good.
 */
export function trustKey(ring: Keyring, given: ForeignKey): Keyring {
  const publicKey = parsePublicKey(given.publicKey);
  const id = keyId(publicKey);
  const known = ring.keys.find((key) => key.id === id);
  if (known !== undefined && known.owner === undefined)
    throw new ImagoError('key-own', `Key ${id} is one of this installation's own.`);
  if (known?.revoked !== undefined && given.revoked === undefined)
    throw new ImagoError('key-revoked', `Key ${id} was revoked: ${known.revoked}`);
  const validUntil = given.validUntil ?? known?.validUntil;
  const revoked = known?.revoked ?? given.revoked;
  const trusted: TrustedKey = {
    ...{ id, owner: given.owner, validFrom: given.validFrom ?? known?.validFrom ?? always },
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    ...(validUntil !== undefined && { validUntil }),
    ...(revoked !== undefined && { revoked }),
  };
  return { keys: [...ring.keys.filter((key) => key.id !== id), trusted].toSorted(byStart) };
}

/**
 * Takes a key of another installation out. Throws `key-not-found`, `key-own` for a key of one's own, and
 * `key-revoked` for one that was revoked: it must stay known, so that it is not trusted again.
 */
export function untrustKey(ring: Keyring, id: string): Keyring {
  const known = requireKey(ring, id);
  if (known.owner === undefined)
    throw new ImagoError('key-own', `Key ${id} is one of this installation's own, and is never forgotten.`);
  if (known.revoked !== undefined) {
    throw new ImagoError(
      'key-revoked',
      `Key ${id} was revoked, and stays known so that it is not trusted again.`,
      {
        hint: 'Nothing that it signed counts: there is nothing more to do.',
      },
    );
  }
  return { keys: ring.keys.filter((key) => key !== known) };
}

/** Adds the keys of a backup to a ring. Throws `restore-not-empty` if the ring has keys of its own that they lack. */
export function adoptKeys(ring: Keyring, adopted: Keyring): Keyring {
  const others = ring.keys.filter(({ id }) => !adopted.keys.some((key) => key.id === id));
  const own = others.find(({ owner }) => owner === undefined);
  if (own !== undefined) {
    throw new ImagoError('restore-not-empty', `This host has its own signing key ${own.id}.`, {
      hint: 'Restore without --with-keys, then trust the old key with `imago keys trust`.',
    });
  }
  return { keys: [...adopted.keys, ...others].toSorted(byStart) };
}

/** Throws `key-not-found`. */
export function requireKey(ring: Keyring, id: string): TrustedKey {
  const known = ring.keys.find((key) => key.id === id);
  if (known !== undefined) return known;
  throw new ImagoError('key-not-found', `There is no key ${id}.`, { hint: 'See `imago keys list`.' });
}

/** Throws `key-not-found` when the ring has no such key. Revoking again keeps the first reason. */
export function revokeKey(ring: Keyring, id: string, reason: string): Keyring {
  requireKey(ring, id);
  return { keys: ring.keys.map((key) => (key.id === id ? { ...key, revoked: key.revoked ?? reason } : key)) };
}

/** The key to sign with at a time; `undefined` when none may. Never one of another installation. */
export function signingKey(ring: Keyring, at: string): TrustedKey | undefined {
  return ring.keys.findLast((key) => key.owner === undefined && isTrustedAt(key, at));
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
