// Signing keys at rest: a folder with one private key a file, readable by its owner alone and encrypted where
// a passphrase is given, and the keyring that says which of them may be used.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode, writeFileDurably } from '../../host/files/durable-files.ts';
import { withFileLock } from '../../host/files/file-lock.ts';
import type { ForeignKey } from '../../ports/image-store/signing-keys.ts';
import {
  addKey,
  adoptKeys,
  type Keyring,
  keyId,
  parseKeyring,
  parsePublicKey,
  requireKey,
  revokeKey,
  signingKey,
  type TrustedKey,
  trustKey,
  untrustKey,
} from './keyring.ts';

export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export interface KeyFolder {
  /** The keys that are trusted; an empty ring when none was made yet. */
  keyring(): Promise<Keyring>;
  /**
   * Makes a new key that signs from `at` on, and ends the ones before it: rotation is making a key. With a
   * passphrase the private key is encrypted with it.
   */
  create(at: string, passphrase?: string): Promise<TrustedKey>;
  /** The key to sign with. `key-not-found` when none may sign, `key-invalid` when the passphrase is wrong. */
  load(at: string, passphrase?: string): Promise<SigningKey>;
  /** As `load`; `undefined` only if no key of this installation was ever made. */
  signer(at: string, passphrase?: string): Promise<SigningKey | undefined>;
  /** The first key of this installation; makes it if there is none. Concurrent calls make one. */
  createFirst(at: string, passphrase?: string): Promise<TrustedKey>;
  /** Nothing that this key signed is valid anymore; its private key is deleted. */
  revoke(id: string, reason: string): Promise<void>;
  /** What this key of another installation signed counts here too. The same again changes nothing. */
  trust(key: ForeignKey): Promise<TrustedKey>;
  /** Nothing that this key of another installation signed is valid anymore, unless it is trusted again. */
  forget(id: string): Promise<void>;
  /**
   * Takes over the keys of a backup with their private parts; trusted foreign keys stay. Throws `restore-not-empty` if
   * this installation has keys of its own that the backup does not have. Calling it again has no effect.
   */
  adopt(ring: Keyring, privateKeys: ReadonlyMap<string, Uint8Array>): Promise<void>;
}

export function keyFolder(folder: string): KeyFolder {
  const ringFile = join(folder, 'keyring.json');
  const privateFile = (id: string) => join(folder, `${id}.pem`);

  /** Private keys without a keyring are damage, or what a crash left of the first one, which making a key repairs. */
  async function read(isRepair = false): Promise<Keyring> {
    const text = await readFile(ringFile, 'utf8').catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (text !== undefined) return parseKeyring(text);
    const files = isRepair ? [] : await readdir(folder).catch(() => []);
    if (!files.some((name) => name.endsWith('.pem'))) return { keys: [] };
    throw new ImagoError('key-invalid', `there are private keys, and ${ringFile} is missing`, {
      hint: 'Restore it from a backup. If there is none, `imago keys create` starts a new keyring.',
    });
  }

  async function change<T>(
    work: (ring: Keyring) => Promise<{ ring: Keyring; result: T }>,
    isRepair = false,
  ): Promise<T> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return withFileLock(join(folder, '.lock'), {}, async () => {
      const { ring, result } = await work(await read(isRepair));
      const text = Buffer.from(`${JSON.stringify(ring, null, 2)}\n`);
      await writeFileDurably(ringFile, text, 0o644);
      return result;
    });
  }

  const writePrivate = (id: string, pem: Uint8Array) => writeFileDurably(privateFile(id), pem);

  async function load(at: string, passphrase?: string): Promise<SigningKey> {
    const trusted = signingKey(await read(), at);
    if (trusted === undefined) {
      throw new ImagoError('key-not-found', 'no key may sign now', {
        hint: 'Make one with `imago keys create`.',
      });
    }
    const pem = await readFile(privateFile(trusted.id)).catch((cause: unknown) => {
      throw new ImagoError('key-not-found', `the private part of key ${trusted.id} is not here`, { cause });
    });
    return openPrivateKey(pem, passphrase);
  }

  const isOwn = ({ owner }: TrustedKey) => owner === undefined;

  async function add(ring: Keyring, at: string, passphrase?: string) {
    const { privatePem, publicPem, id } = newKeyPair(passphrase);
    await writePrivate(id, Buffer.from(privatePem));
    const added = addKey(ring, publicPem, at);
    return { ring: added, result: requireKey(added, id) };
  }

  return {
    keyring: () => read(),
    create: (at, passphrase) => change((ring) => add(ring, at, passphrase), true),
    load,
    signer: async (at, passphrase) => ((await read()).keys.some(isOwn) ? load(at, passphrase) : undefined),
    createFirst: (at, passphrase) =>
      change(async (ring) => {
        const known = ring.keys.find(isOwn);
        return known === undefined ? add(ring, at, passphrase) : { ring, result: known };
      }),
    revoke: (id, reason) =>
      change(async (ring) => {
        const revoked = revokeKey(ring, id, reason);
        await rm(privateFile(id), { force: true });
        return { ring: revoked, result: undefined };
      }),
    trust: (key) =>
      change(async (ring) => {
        const id = keyId(parsePublicKey(key.publicKey));
        const changed = trustKey(ring, key);
        return { ring: changed, result: requireKey(changed, id) };
      }),
    forget: (id) => change(async (ring) => ({ ring: untrustKey(ring, id), result: undefined })),
    adopt: (adopted, privateKeys) =>
      change(async (ring) => {
        const merged = adoptKeys(ring, adopted);
        for (const { id } of adopted.keys) {
          const pem = privateKeys.get(id);
          if (pem !== undefined) await writePrivate(id, pem);
        }
        return { ring: merged, result: undefined };
      }, true),
  };
}

/** Reads a private key. `key-invalid` when it is none, of another kind, or the passphrase does not fit. */
export function openPrivateKey(pem: Buffer | string, passphrase?: string): SigningKey {
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) });
  } catch {
    throw new ImagoError('key-invalid', 'a private key cannot be opened', {
      hint: 'Check the passphrase, and that the file is a PEM private key.',
    });
  }
  if (privateKey.asymmetricKeyType !== 'ec' || privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new ImagoError('key-invalid', 'a private key is not ECDSA on the curve P-256');
  }
  const publicKey = createPublicKey(privateKey);
  return { id: keyId(publicKey), privateKey, publicKey };
}

function newKeyPair(passphrase: string | undefined) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const encryption = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  return {
    id: keyId(publicKey),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem', ...encryption }),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}
