import { generateKeyPairSync, sign } from 'node:crypto';
import { bundleFromJSON, bundleToJSON, toDSSEBundle } from '@sigstore/bundle';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import { describe, expect, test } from 'vitest';
import { diskOf, type TestStore, testStore } from '../../../test/support/test-disks.ts';
import { verifySignatures } from '../../../test/support/verify-signatures.ts';
import { putDisk } from '../disks/put-disk.ts';
import type { Digest } from '../layout/digest.ts';
import { parseManifest } from '../layout/manifest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { attach } from '../layout/referrers.ts';
import { openEnvelope, preAuthEncoding, signStatement, statementOf } from './dsse.ts';
import { openPrivateKey, type SigningKey } from './key-folder.ts';
import { addKey, type Keyring, revokeKey } from './keyring.ts';
import { attestVersion, readSignatures, signVersion, verifyStatements } from './sign.ts';

const january = '2026-01-01T00:00:00Z';
const february = '2026-02-01T00:00:00Z';
const march = '2026-03-01T00:00:00Z';
const provenance = 'https://slsa.dev/provenance/v1';

function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return openPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

function ringOf(key: SigningKey, from: string, ring: Keyring = { keys: [] }): Keyring {
  return addKey(ring, key.publicKey.export({ type: 'spki', format: 'pem' }).toString(), from);
}

async function putSample(made: TestStore, seed: number): Promise<Digest> {
  return (await putDisk(made.store, await made.disk(`d${seed}`, diskOf([{ kind: 'text', seed, blocks: 9 }]))))
    .digest;
}

const sigType = 'application/vnd.dev.cosign.artifact.sig.v1+json';

describe('signing a version', () => {
  test('a signature is found by its key, and by no other', async () => {
    await using made = await testStore();
    const digest = await putSample(made, 1);
    const key = newKey();
    await signVersion(made.store, digest, key, { identity: 'node', at: february });
    expect(await verifySignatures(made.store, digest, ringOf(key, january))).toMatchObject([
      { key: { id: key.id }, identity: 'node', signedAt: '2026-02-01T00:00:00.000Z' },
    ]);
    const others = verifySignatures(made.store, digest, ringOf(newKey(), january));
    await expect(others).rejects.toMatchObject({ code: 'signature-missing' });
  });

  test('signing again with the same key changes nothing; a second key adds its own', async () => {
    await using made = await testStore();
    const digest = await putSample(made, 1);
    const [one, two] = [newKey(), newKey()];
    const options = { identity: 'node', at: february };
    await signVersion(made.store, digest, one, options);
    const before = await made.store.referrers(digest);
    await signVersion(made.store, digest, one, { ...options, at: march });
    expect(await made.store.referrers(digest)).toEqual(before);
    await Promise.all([
      signVersion(made.store, digest, two, options),
      signVersion(made.store, digest, one, options),
    ]);
    const ring = ringOf(two, '2026-01-02T00:00:00Z', { keys: ringOf(one, january).keys });
    const open = { keys: ring.keys.map(({ validUntil: _, ...key }) => key) };
    expect((await verifySignatures(made.store, digest, open)).length).toBe(2);
    expect((await made.store.referrers(digest, sigType)).length).toBe(1);
    expect((await made.store.referrers(digest, mediaTypes.bundle)).length).toBe(2);
  });

  test('after rotation the old signature counts, a later one of the old key does not, a revoked key never', async () => {
    await using made = await testStore();
    const [early, late] = [await putSample(made, 1), await putSample(made, 2)];
    const [old, current] = [newKey(), newKey()];
    const ring = ringOf(current, february, ringOf(old, january));
    await signVersion(made.store, early, old, { identity: 'node', at: '2026-01-15T00:00:00Z' });
    await signVersion(made.store, late, old, { identity: 'node', at: march });
    expect((await verifySignatures(made.store, early, ring)).length).toBe(1);
    await expect(verifySignatures(made.store, late, ring)).rejects.toMatchObject({
      code: 'signature-missing',
    });
    const revoked = revokeKey(ring, old.id, 'leaked');
    await expect(verifySignatures(made.store, early, revoked)).rejects.toMatchObject({
      code: 'signature-missing',
    });
  });

  test('what a copy without tags brings is found as a referrer, once, and signing again keeps it', async () => {
    await using made = await testStore();
    await using copy = await testStore();
    const [digest, same] = [await putSample(made, 1), await putSample(copy, 1)];
    expect(same).toBe(digest);
    const [key, mine] = [newKey(), newKey()];
    await signVersion(made.store, digest, key, { identity: 'node', at: february });
    await attestVersion(made.store, digest, key, { name: 'node', predicateType: provenance, predicate: {} });
    for (const { digest: attached } of await made.store.referrers(digest)) {
      const manifest = parseManifest(await made.store.readBlob(attached), attached);
      const parts = await Promise.all(
        manifest.layers.map(async ({ mediaType, annotations, digest: layer }) => ({
          ...{ mediaType, annotations: annotations ?? {} },
          bytes: await made.store.readBlob(layer),
        })),
      );
      await attach(copy.store, digest, { artifactType: manifest.artifactType ?? '', parts });
    }
    await attach(copy.store, digest, {
      artifactType: 'application/vnd.in-toto+json',
      parts: [{ mediaType: 'text/plain', bytes: Buffer.from('of another user') }],
    });
    const ring = ringOf(key, january);
    expect(await verifySignatures(copy.store, digest, ring)).toHaveLength(1);
    expect(await verifyStatements(copy.store, digest, ring, provenance)).toHaveLength(1);
    await signVersion(copy.store, digest, mine, { identity: 'node', at: march });
    expect(await verifySignatures(copy.store, digest, ring)).toHaveLength(1);
    expect(await readSignatures(copy.store, digest, ring)).toMatchObject([
      { key: { id: key.id } },
      { key: undefined, problem: 'unknown-key' },
    ]);
  });

  test('a signature moved to another version does not count', async () => {
    await using made = await testStore();
    const [signed, other] = [await putSample(made, 1), await putSample(made, 2)];
    const key = newKey();
    await signVersion(made.store, signed, key, { identity: 'node', at: february });
    const entry = await made.store.index.resolve(`sha256-${signed.slice(7)}.sig`);
    if (entry === undefined) throw new Error('the signature has its tag');
    await made.store.index.tag(`sha256-${other.slice(7)}.sig`, entry);
    const found = verifySignatures(made.store, other, ringOf(key, january));
    await expect(found).rejects.toMatchObject({ code: 'signature-missing' });
  });
});

describe('attesting a version', () => {
  test('a statement is found by kind and key, and attesting the same again adds nothing', async () => {
    await using made = await testStore();
    const digest = await putSample(made, 1);
    const key = newKey();
    const about = { name: 'node', predicateType: provenance, predicate: { builder: 'imago' } };
    await attestVersion(made.store, digest, key, about);
    await attestVersion(made.store, digest, key, about);
    await attestVersion(made.store, digest, key, { ...about, predicateType: 'https://imago/test/v1' });
    const ring = ringOf(key, january);
    expect((await verifyStatements(made.store, digest, ring)).length).toBe(2);
    expect(await verifyStatements(made.store, digest, ring, provenance)).toMatchObject([
      { statement: { predicate: { builder: 'imago' } } },
    ]);
    expect(await verifyStatements(made.store, digest, ringOf(newKey(), january))).toEqual([]);
  });

  test('an envelope whose payload was changed has no signer', () => {
    const key = newKey();
    const statement = statementOf(`sha256:${'a'.repeat(64)}`, 'node', provenance, { ok: false });
    const envelope = JSON.parse(signStatement(statement, key).toString());
    expect(openEnvelope(Buffer.from(JSON.stringify(envelope)), [key]).signedBy).toEqual([key]);
    const forged = Buffer.from(JSON.stringify({ ...statement, predicate: { ok: true } })).toString('base64');
    expect(
      openEnvelope(Buffer.from(JSON.stringify({ ...envelope, payload: forged })), [key]).signedBy,
    ).toEqual([]);
    expect(() => openEnvelope(Buffer.from('{}'), [key])).toThrow(
      expect.objectContaining({ code: 'signature-invalid' }),
    );
  });
});

describe('a bundle in the format of cosign 3', () => {
  /** What `cosign sign --key` of version 3 attaches: a statement without name, image or time. */
  async function signByCosign(
    made: TestStore,
    digest: Digest,
    key: SigningKey,
    change = (text: string) => text,
  ) {
    const artifact = Buffer.from(
      JSON.stringify({
        _type: 'https://in-toto.io/Statement/v1',
        subject: [{ digest: { sha256: digest.slice('sha256:'.length) } }],
        predicateType: 'https://sigstore.dev/cosign/sign/v1',
        predicate: {},
      }),
    );
    const artifactType = 'application/vnd.in-toto+json';
    const signature = sign('sha256', preAuthEncoding(artifactType, artifact), key.privateKey);
    const bundle = bundleToJSON(toDSSEBundle({ artifact, artifactType, signature, keyHint: 'a hint' }));
    await attach(made.store, digest, {
      artifactType: mediaTypes.bundle,
      parts: [{ mediaType: mediaTypes.bundle, bytes: Buffer.from(change(JSON.stringify(bundle))) }],
    });
  }

  test('is read as a signature, of its key alone', async () => {
    await using made = await testStore();
    const digest = await putSample(made, 1);
    const key = newKey();
    await signByCosign(made, digest, key);
    expect(await verifySignatures(made.store, digest, ringOf(key, january))).toMatchObject([
      { key: { id: key.id }, identity: '', signedAt: undefined },
    ]);
    const others = verifySignatures(made.store, digest, ringOf(newKey(), january));
    await expect(others).rejects.toMatchObject({ code: 'signature-missing' });
  });

  test('is refused if it was changed, cannot be read, or is for another version', async () => {
    await using made = await testStore();
    const [digest, other] = [await putSample(made, 1), await putSample(made, 2)];
    const key = newKey();
    const ring = ringOf(key, january);
    await signByCosign(made, other, key, (text) => {
      const bundle = JSON.parse(text);
      const payload = Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString('utf8');
      const forged = payload.replace(other.slice(7), digest.slice(7));
      bundle.dsseEnvelope.payload = Buffer.from(forged).toString('base64');
      return JSON.stringify(bundle);
    });
    for (const { digest: attached } of await made.store.referrers(other, mediaTypes.bundle)) {
      const { layers } = parseManifest(await made.store.readBlob(attached), attached);
      const bytes = await made.store.readBlob(layers[0]?.digest ?? attached);
      const parts = [{ mediaType: mediaTypes.bundle, bytes }];
      await attach(made.store, digest, { artifactType: mediaTypes.bundle, parts });
    }
    await signByCosign(made, digest, key, () => '{"not": "a bundle"}');
    await expect(verifySignatures(made.store, digest, ring)).rejects.toMatchObject({
      code: 'signature-missing',
    });
    await expect(verifySignatures(made.store, other, ring)).rejects.toMatchObject({
      code: 'signature-missing',
    });
  });

  test('is written beside the other form, and judged by the verifier of sigstore', async () => {
    await using made = await testStore();
    const digest = await putSample(made, 1);
    const key = newKey();
    await signVersion(made.store, digest, key, { identity: 'node', at: february });
    await attestVersion(made.store, digest, key, { name: 'node', predicateType: provenance, predicate: {} });
    const verifier = new Verifier(
      {
        ...{ certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
        publicKey: () => ({ publicKey: key.publicKey, validFor: () => true }),
      },
      { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 },
    );
    const kinds: string[] = [];
    for (const { digest: attached, annotations } of await made.store.referrers(digest, mediaTypes.bundle)) {
      const { layers } = parseManifest(await made.store.readBlob(attached), attached);
      const text = (await made.store.readBlob(layers[0]?.digest ?? attached)).toString('utf8');
      expect(() => verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(text))))).not.toThrow();
      kinds.push(annotations?.['dev.sigstore.bundle.predicateType'] ?? '');
    }
    expect(kinds).toEqual(['https://sigstore.dev/cosign/sign/v1', provenance]);
    expect(await verifySignatures(made.store, digest, ringOf(key, january))).toHaveLength(1);
    expect(await verifyStatements(made.store, digest, ringOf(key, january))).toHaveLength(1);
  });
});
