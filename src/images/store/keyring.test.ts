import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyFolder, openPrivateKey } from './key-folder.ts';
import { isTrustedAt, parseKeyring, signingKey } from './keyring.ts';

const january = '2026-01-01T00:00:00Z';
const march = '2026-03-01T00:00:00.500Z';
const june = '2026-06-01T00:00:00Z';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('signing keys', () => {
  test('making a new key ends the one before; each is trusted in its own time', async () => {
    const keys = keyFolder(folder);
    const old = await keys.create(january);
    const current = await keys.create(march);
    const ring = await keys.keyring();
    expect(ring.keys.map((key) => key.id)).toEqual([old.id, current.id]);
    expect(signingKey(ring, '2026-02-01T00:00:00Z')?.id).toBe(old.id);
    expect(signingKey(ring, june)?.id).toBe(current.id);
    expect(signingKey(ring, '2025-12-31T23:59:59Z')).toBeUndefined();
    const [first, second] = ring.keys;
    if (first === undefined || second === undefined) throw new Error('two keys were made');
    expect(isTrustedAt(first, june)).toBe(false);
    expect(isTrustedAt(first, undefined)).toBe(true);
    expect(isTrustedAt(second, '2026-03-01T00:00:00Z')).toBe(true);
    expect(isTrustedAt(second, '2026-02-28T23:59:59Z')).toBe(false);
  });

  test('a revoked key is trusted for nothing, and its private part is gone', async () => {
    const keys = keyFolder(folder);
    const leaked = await keys.create(january);
    await keys.revoke(leaked.id, 'leaked');
    const [key] = (await keys.keyring()).keys;
    if (key === undefined) throw new Error('a key was made');
    expect(isTrustedAt(key, '2026-02-01T00:00:00Z')).toBe(false);
    expect(await readdir(folder)).not.toContain(`${leaked.id}.pem`);
    await expect(keys.load(june)).rejects.toMatchObject({ code: 'key-not-found' });
    await expect(keys.revoke('0000000000000000', 'who?')).rejects.toMatchObject({ code: 'key-not-found' });
  });

  test('a private key is readable by its owner alone, and encrypted with its passphrase', async () => {
    const keys = keyFolder(folder);
    const { id } = await keys.create(january, 'correct horse');
    const path = join(folder, `${id}.pem`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain('BEGIN ENCRYPTED PRIVATE KEY');
    await expect(keys.load(june, 'wrong')).rejects.toMatchObject({ code: 'key-invalid' });
    await expect(keys.load(june)).rejects.toMatchObject({ code: 'key-invalid' });
    await expect(keys.load(june, 'correct horse')).resolves.toMatchObject({ id });
  });

  test('two who make keys at once both end up in the ring', async () => {
    await Promise.all([keyFolder(folder).create(january), keyFolder(folder).create(march)]);
    expect((await keyFolder(folder).keyring()).keys.length).toBe(2);
  });

  test('keys of other kinds are refused', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(() => openPrivateKey(pem)).toThrow(expect.objectContaining({ code: 'key-invalid' }));
  });

  test.each([
    ['not JSON', '{'],
    ['an unknown field', '{"keys":[],"extra":1}'],
    ['a key under a false name', ''],
  ])('a keyring with %s is refused', async (_, given) => {
    let text = given;
    if (text === '') {
      const keys = keyFolder(folder);
      const { id } = await keys.create(january);
      text = (await readFile(join(folder, 'keyring.json'), 'utf8')).replace(id, '0123456789abcdef');
    }
    expect(() => parseKeyring(text)).toThrow(expect.objectContaining({ code: 'key-invalid' }));
  });
});
