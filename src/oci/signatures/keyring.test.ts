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
  test('making a new key ends the previous one; each is trusted in its own time', async () => {
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

  test('keys that are made concurrently all end up in the ring', async () => {
    await Promise.all([keyFolder(folder).create(january), keyFolder(folder).create(march)]);
    expect((await keyFolder(folder).keyring()).keys.length).toBe(2);
  });

  test("keys of other installations count and never sign; making a key of one's own does not end them", async () => {
    const theirs = await keyFolder(join(folder, 'theirs')).create(january);
    const keys = keyFolder(join(folder, 'ours'));
    await keys.trust({ publicKey: theirs.publicKey, owner: 'farm' });
    expect(signingKey(await keys.keyring(), june)).toBeUndefined();
    await expect(keys.load(june)).rejects.toMatchObject({ code: 'key-not-found' });
    const own = await keys.create(march);
    const ring = await keys.keyring();
    expect(signingKey(ring, june)?.id).toBe(own.id);
    const foreign = ring.keys.find(({ id }) => id === theirs.id);
    if (foreign === undefined) throw new Error('a key was trusted');
    expect(foreign).toMatchObject({ owner: 'farm', publicKey: theirs.publicKey });
    for (const time of ['2020-01-01T00:00:00Z', june]) expect(isTrustedAt(foreign, time)).toBe(true);
  });

  test('a newer list of another installation ends and revokes its keys, and gives no revoked one back', async () => {
    const there = keyFolder(join(folder, 'theirs'));
    const [old, leaked] = [await there.create(january), await there.create(march)];
    const keys = keyFolder(join(folder, 'ours'));
    const given = { publicKey: old.publicKey, owner: 'farm', validFrom: january };
    await keys.trust(given);
    const ended = await keys.trust({ ...given, validUntil: march });
    expect([january, june].map((time) => isTrustedAt(ended, time))).toEqual([true, false]);
    expect(await keys.trust({ publicKey: old.publicKey, owner: 'farm' })).toEqual(ended);
    const gone = { publicKey: leaked.publicKey, owner: 'farm', revoked: 'it leaked' };
    for (let times = 0; times < 2; times += 1) expect(isTrustedAt(await keys.trust(gone), june)).toBe(false);
    await expect(keys.trust({ publicKey: leaked.publicKey, owner: 'farm' })).rejects.toMatchObject({
      code: 'key-revoked',
    });
    await expect(keys.forget(leaked.id)).rejects.toMatchObject({ code: 'key-revoked' });
    await keys.forget(old.id);
    await expect(keys.forget(old.id)).rejects.toMatchObject({ code: 'key-not-found' });
    expect((await keys.keyring()).keys.map(({ id }) => id)).toEqual([leaked.id]);
  });

  test("one's own key is neither trusted as another's nor forgotten", async () => {
    const keys = keyFolder(folder);
    const { id, publicKey } = await keys.create(january);
    await expect(keys.trust({ publicKey, owner: 'me' })).rejects.toMatchObject({ code: 'key-own' });
    await expect(keys.forget(id)).rejects.toMatchObject({ code: 'key-own' });
    expect(signingKey(await keys.keyring(), june)?.id).toBe(id);
  });

  test('a private key is not taken for a public one, though a public one could be made from it', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const publicKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const keys = keyFolder(folder);
    await expect(keys.trust({ publicKey, owner: 'farm' })).rejects.toMatchObject({ code: 'key-invalid' });
    expect((await keys.keyring()).keys).toEqual([]);
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

  test('a signer is absent only if no own key was ever made', async () => {
    const keys = keyFolder(folder);
    expect(await keys.signer(march)).toBeUndefined();
    const { id } = await keys.create(january);
    expect(await keys.signer(march)).toMatchObject({ id });
    await keys.revoke(id, 'it leaked');
    await expect(keys.signer(march)).rejects.toMatchObject({ code: 'key-not-found' });
    await keys.create(january);
    await rm(join(folder, 'keyring.json'));
    await expect(keys.signer(march)).rejects.toMatchObject({ code: 'key-invalid' });
  });

  test('concurrent first builds make one key', async () => {
    const made = await Promise.all([1, 2, 3].map(() => keyFolder(folder).createFirst(january)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect((await keyFolder(folder).keyring()).keys).toHaveLength(1);
  });
});
