import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { backupMagic, readEnvelope } from '../../domain/backup/envelope.ts';
import { openPrivateKey, type SigningKey } from '../../oci/signatures/key-folder.ts';
import type { Keyring } from '../../oci/signatures/keyring.ts';
import { openBackup, seal } from './container.ts';
import { spool } from './spool.ts';

const passphrase = 'correct horse battery';
const content = randomBytes(200_000);
const envelope = {
  madeAt: '2026-01-01T00:00:00.000Z',
  madeBy: '1.0.0',
  holds: ['records' as const],
  copy: [{ what: 'disks', path: '/home/ünï/store' }],
};

function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return openPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

function ringOf(...keys: readonly SigningKey[]): Keyring {
  return {
    keys: keys.map(({ id, publicKey }) => ({
      ...{ id, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() },
      validFrom: '2020-01-01T00:00:00.000Z',
    })),
  };
}

const key = newKey();
const ring = ringOf(key);
const file = (options: { passphrase?: string; key?: SigningKey } = {}): Promise<Buffer> =>
  buffer(Readable.from(seal(Readable.from([content]), { envelope, key, ...options })));

async function open(bytes: Buffer, keyring: Keyring = ring, given?: string, named?: string): Promise<Buffer> {
  const stored = await spool(Readable.from([bytes]));
  try {
    return await buffer((await openBackup(stored, { keyring, key: named, passphrase: given })).content());
  } finally {
    await stored.close();
  }
}

let plain: Buffer;
let encrypted: Buffer;
beforeAll(async () => {
  plain = await file();
  encrypted = await file({ passphrase });
});

describe('a backup file', () => {
  test('opens if a trusted key signed it, and describes what it holds', async () => {
    expect(await open(plain)).toEqual(content);
    expect(readEnvelope(plain.toString('latin1'))?.envelope).toEqual({ ...envelope, signer: key.id });
  });

  test('is encrypted with the passphrase, which also opens it where the key is unknown', async () => {
    expect(plain.includes(content.subarray(0, 64))).toBe(true);
    expect(encrypted.includes(content.subarray(0, 64))).toBe(false);
    expect(await open(encrypted, ringOf(), passphrase)).toEqual(content);
  });

  test.each([
    ['by another key', () => file({ key: newKey() })],
    ['by a revoked key', () => file()],
  ])('is refused if it was signed %s', async (how, make) => {
    const revoked = { keys: ring.keys.map((one) => ({ ...one, revoked: 'leaked' })) };
    const refused = open(await make(), how.includes('revoked') ? revoked : ring);
    await expect(refused).rejects.toMatchObject({ code: 'backup-untrusted' });
  });

  test('is refused if its signer is only trusted to sign images, until the restore names the key', async () => {
    const foreign = { keys: ring.keys.map((one) => ({ ...one, owner: 'farm' })) };
    await expect(open(plain, foreign)).rejects.toMatchObject({
      code: 'backup-untrusted',
      message: expect.stringContaining('only trusted to sign images'),
    });
    const pem = (one: SigningKey) => one.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    for (const keyring of [foreign, ringOf()]) {
      expect(await open(plain, keyring, undefined, pem(key))).toEqual(content);
      await expect(open(plain, keyring, undefined, pem(newKey()))).rejects.toMatchObject({
        code: 'backup-untrusted',
      });
    }
    const revoked = { keys: foreign.keys.map((one) => ({ ...one, revoked: 'leaked' })) };
    await expect(open(plain, revoked, undefined, pem(key))).rejects.toMatchObject({
      code: 'backup-untrusted',
    });
    expect(await open(encrypted, foreign, passphrase)).toEqual(content);
    await expect(open(encrypted, ringOf(), passphrase, pem(newKey()))).rejects.toMatchObject({
      code: 'backup-untrusted',
    });
  });

  test('is refused if it claims a trusted signer that did not sign it', async () => {
    const other = newKey();
    const forged = await file({ key: { ...other, id: key.id } });
    await expect(open(forged)).rejects.toMatchObject({ code: 'backup-invalid' });
  });

  test('is refused without its passphrase, and with a wrong one', async () => {
    for (const given of [undefined, 'wrong horse battery']) {
      await expect(open(encrypted, ring, given)).rejects.toMatchObject({ code: 'backup-passphrase' });
    }
  });

  test('is refused if it is truncated or has trailing data', async () => {
    for (const part of [0, 0.0001, 0.3, 0.9]) {
      const cut = plain.subarray(0, Math.floor(plain.length * part));
      await expect(open(cut)).rejects.toMatchObject({ code: 'backup-invalid' });
    }
    for (const bytes of [plain.subarray(0, -1), Buffer.concat([plain, Buffer.alloc(1)])]) {
      await expect(open(bytes)).rejects.toMatchObject({ code: 'backup-invalid' });
    }
  });

  test('is refused if any bit was flipped', async () => {
    for (let at = 3; at < plain.length; at += Math.floor(plain.length / 40)) {
      const damaged = Buffer.from(plain);
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      await expect(open(damaged)).rejects.toMatchObject({
        code: expect.stringMatching(/^backup-(invalid|untrusted)$/),
      });
    }
  });

  test('is refused if its encrypted chunks were swapped, dropped or flipped, even if its signer is unknown', async () => {
    const start = readEnvelope(encrypted.toString('latin1'))?.length ?? 0;
    const size = 4 + 65_536 + 16;
    const part = (from: number, to?: number) =>
      encrypted.subarray(start + from * size, to === undefined ? undefined : start + to * size);
    const head = encrypted.subarray(0, start);
    const flipped = Buffer.from(encrypted);
    flipped[start + size + 100] = (flipped[start + size + 100] ?? 0) ^ 1;
    for (const bytes of [
      Buffer.concat([head, part(1, 2), part(0, 1), part(2)]),
      Buffer.concat([head, part(0, 2), part(3)]),
      flipped,
    ]) {
      await expect(open(bytes, ringOf(), passphrase)).rejects.toMatchObject({ code: 'backup-passphrase' });
    }
  });

  test('is refused if its envelope was changed, even if its signer is unknown', async () => {
    const changed = Buffer.from(encrypted.toString('latin1').replace('"1.0.0"', '"1.0.1"'), 'latin1');
    await expect(open(changed, ringOf(), passphrase)).rejects.toMatchObject({ code: 'backup-passphrase' });
  });

  test.each([
    ['nothing', ''],
    ['other text', 'hello'],
    ['no envelope', backupMagic],
    ['an envelope that is not JSON', `${backupMagic}{\n`],
    ['an envelope with an unknown field', `${backupMagic}{"sql":"drop table x"}\n`],
    ['an endless envelope', `${backupMagic}${' '.repeat(100_000)}\n{}`],
  ])('is refused if it is %s', async (_, text) => {
    await expect(open(Buffer.from(text))).rejects.toMatchObject({ code: 'backup-invalid' });
  });

  test('of a newer format names the version problem', async () => {
    await expect(open(Buffer.from('imago-backup 3\n{}\n'))).rejects.toMatchObject({
      code: 'database-version',
    });
  });

  test('that cannot be read to its end leaves no temporary file', async () => {
    const failing = new Readable({
      read() {
        this.push(plain.subarray(0, 1_000));
        this.destroy(new Error('the disk failed'));
      },
    });
    await expect(spool(failing)).rejects.toMatchObject({ code: 'file-missing' });
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('imago-restore-'))).toEqual([]);
  });
});
