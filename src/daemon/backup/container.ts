// The file format around a backup's content: magic, envelope, chunks, signature. With a passphrase the chunks are
// encrypted (AES-256-GCM; the nonce of a chunk is its number and whether it is the last one, so that chunks cannot be
// reordered, dropped, or truncated). The signature covers every byte before it. docs/how-to/back-up-and-restore.md
// describes it.
import {
  createCipheriv,
  createDecipheriv,
  createSign,
  createVerify,
  type KeyObject,
  randomBytes,
  scrypt,
} from 'node:crypto';
import { Readable } from 'node:stream';
import {
  type BackupEnvelope,
  backupMagic,
  maxEnvelopeBytes,
  readEnvelope,
} from '../../domain/backup/envelope.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { SigningKey } from '../../oci/signatures/key-folder.ts';
import { type Keyring, keyId, parsePublicKey } from '../../oci/signatures/keyring.ts';
import type { Spool } from './spool.ts';

const chunkBytes = 64 * 1024;
const tagBytes = 16;
const signatureBytes = 64;
/** The length of a chunk has this bit if the chunk is the last one. */
const lastBit = 0x80000000;
const dsaEncoding = 'ieee-p1363';
const scryptCost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };

export interface SealOptions {
  readonly envelope: Omit<BackupEnvelope, 'signer' | 'salt'>;
  readonly key: SigningKey;
  readonly passphrase?: string | undefined;
}

/** Yields the file. If stopped early, the file has no signature and is not a backup. */
export async function* seal(
  content: AsyncIterable<Uint8Array>,
  { envelope, key, passphrase }: SealOptions,
): AsyncGenerator<Uint8Array, void> {
  const salt = passphrase === undefined ? undefined : randomBytes(16);
  const line = asciiJson({ ...envelope, signer: key.id, ...(salt && { salt: salt.toString('hex') }) });
  const head = Buffer.from(`${backupMagic}${line}\n`);
  const secret = salt && passphrase !== undefined ? await deriveKey(passphrase, salt) : undefined;
  const signer = createSign('sha256').update(head);
  yield head;
  let index = 0;
  for await (const { bytes, last } of evenChunks(content)) {
    const data = secret === undefined ? bytes : encrypt(secret, nonceOf(index++, last), head, bytes);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length + (last ? lastBit : 0));
    const chunk = Buffer.concat([length, data]);
    signer.update(chunk);
    yield chunk;
  }
  yield signer.sign({ key: key.privateKey, dsaEncoding });
}

export interface OpenedBackup {
  readonly envelope: BackupEnvelope;
  /** Returns the content from its beginning on every call. */
  content(): Readable;
}

export interface OpenOptions {
  /** This host's own keys vouch for a backup. Those of others are only trusted to sign images. */
  readonly keyring: Keyring;
  /** The public key that must have signed it, in PEM. */
  readonly key?: string | undefined;
  readonly passphrase?: string | undefined;
}

/**
 * Verifies the complete file before anything but its envelope is read: by its signature if the key is named or one of
 * this host, else by the passphrase, which only its maker knows. Throws `backup-invalid`, `backup-untrusted`,
 * `backup-passphrase`, or `key-invalid`.
 */
export async function openBackup(
  file: Spool,
  { keyring, key, passphrase }: OpenOptions,
): Promise<OpenedBackup> {
  const start = await file.read(0, maxEnvelopeBytes);
  const found = readEnvelope(start.toString('latin1'));
  if (found === undefined) throw notABackup(start);
  const { envelope } = found;
  const head = start.subarray(0, found.length);
  const signer = signerOf(envelope, keyring, key);
  const secret = await secretOf(envelope, passphrase);
  const verifier = createVerify('sha256').update(head);
  let opens = true;
  let end = head.length;
  for await (const { raw, data, index, last } of chunksOf(file, head.length)) {
    verifier.update(raw);
    end += raw.length;
    opens &&= secret === undefined || decrypt(secret, nonceOf(index, last), head, data) !== undefined;
  }
  const signature = await file.read(end, signatureBytes);
  if (end + signatureBytes !== file.size) throw invalid('it does not end with its signature');
  const isSigned = signer !== undefined && verifier.verify({ key: signer, dsaEncoding }, signature);
  if (signer !== undefined && !isSigned) throw invalid('its signature does not match its content');
  if (!opens) {
    const damaged = isSigned ? '' : ', or the file is damaged';
    throw new ImagoError('backup-passphrase', `The passphrase does not open the backup${damaged}.`);
  }
  async function* content(): AsyncGenerator<Buffer> {
    for await (const { data, index, last } of chunksOf(file, head.length)) {
      const bytes = secret === undefined ? data : decrypt(secret, nonceOf(index, last), head, data);
      if (bytes === undefined) throw invalid('it was changed while it was read');
      yield bytes;
    }
  }
  return { envelope, content: () => Readable.from(content(), { objectMode: false }) };
}

/** Returns the key that must have signed the backup; `undefined` if only its passphrase vouches for it. */
function signerOf(
  { signer, salt }: BackupEnvelope,
  keyring: Keyring,
  named: string | undefined,
): KeyObject | undefined {
  const known = keyring.keys.find(({ id }) => id === signer);
  if (known?.revoked !== undefined) {
    throw new ImagoError('backup-untrusted', `The key that signed the backup was revoked: ${known.revoked}`);
  }
  if (named !== undefined) {
    const key = parsePublicKey(named);
    if (keyId(key) === signer) return key;
    throw new ImagoError('backup-untrusted', `The backup was signed by key ${signer}, not by ${keyId(key)}.`);
  }
  if (known !== undefined && known.owner === undefined) return parsePublicKey(known.publicKey);
  if (salt !== undefined) return undefined;
  const why = known === undefined ? 'not a key of this host' : 'only trusted to sign images here';
  throw new ImagoError('backup-untrusted', `The backup was signed by key ${signer}, which is ${why}.`);
}

async function secretOf(
  { salt }: BackupEnvelope,
  passphrase: string | undefined,
): Promise<Buffer | undefined> {
  if (salt === undefined) return undefined;
  if (passphrase !== undefined) return deriveKey(passphrase, Buffer.from(salt, 'hex'));
  throw new ImagoError('backup-passphrase', 'The backup is encrypted, and no passphrase was given.');
}

async function* chunksOf(file: Spool, start: number) {
  let position = start;
  for (let index = 0; ; index += 1) {
    const header = await file.read(position, 4);
    if (header.length < 4) throw invalid('it is truncated');
    const marked = header.readUInt32BE();
    const length = marked % lastBit;
    if (length > chunkBytes + tagBytes) throw invalid('it has a chunk that is too long');
    const raw = await file.read(position, 4 + length);
    if (raw.length < 4 + length) throw invalid('it is truncated');
    position += raw.length;
    const last = marked >= lastBit;
    yield { raw, data: raw.subarray(4), index, last };
    if (last) return;
  }
}

async function* evenChunks(content: AsyncIterable<Uint8Array>) {
  let rest = Buffer.alloc(0);
  for await (const part of content) {
    rest = Buffer.concat([rest, part]);
    for (; rest.length > chunkBytes; rest = rest.subarray(chunkBytes)) {
      yield { bytes: rest.subarray(0, chunkBytes), last: false };
    }
  }
  yield { bytes: rest, last: true };
}

/** One byte for each character, so that the envelope's length is the same as text and as bytes. */
function asciiJson(value: BackupEnvelope): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

function nonceOf(index: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 7);
  nonce.writeUInt8(last ? 1 : 0, 11);
  return nonce;
}

function encrypt(key: Buffer, nonce: Buffer, head: Buffer, bytes: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(head);
  return Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Returns `undefined` for what was not encrypted with this key and nonce. */
function decrypt(key: Buffer, nonce: Buffer, head: Buffer, data: Buffer): Buffer | undefined {
  if (data.length < tagBytes) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes }).setAAD(head);
  decipher.setAuthTag(data.subarray(data.length - tagBytes));
  try {
    return Buffer.concat([decipher.update(data.subarray(0, data.length - tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function deriveKey(passphrase: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 32, scryptCost, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

function notABackup(start: Buffer): ImagoError {
  const version = /^imago-backup (\d{1,4})\n/.exec(start.toString('latin1', 0, 32))?.[1];
  if (version === undefined || Number(version) <= 2) return invalid('it does not start like a backup');
  return new ImagoError('database-version', 'The backup was made by a newer version of Imago.', {
    hint: 'Restore it with that version or a later one.',
  });
}

function invalid(why: string): ImagoError {
  return new ImagoError('backup-invalid', `The backup cannot be used: ${why}.`);
}
