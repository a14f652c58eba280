import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { diskOf, testStore } from '../../../test/support/test-disks.ts';
import { moveStatement } from '../../domain/channel/statement.ts';
import type { Json } from '../../domain/value/json.ts';
import { putDisk } from '../../oci/disks/put-disk.ts';
import type { Digest } from '../../oci/layout/digest.ts';
import { signStatement, statementOf } from '../../oci/signatures/dsse.ts';
import { openPrivateKey, type SigningKey } from '../../oci/signatures/key-folder.ts';
import { attestVersion } from '../../oci/signatures/sign.ts';
import { readLayoutStatements } from './layout-statements.ts';
import { openSignedMove, readPublicKey } from './signed-move.ts';

const digest: Digest = `sha256:${'a'.repeat(64)}`;
const moveType = 'urn:imago:channel-move:v1';

function newKey(): SigningKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return openPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
}

function predicate(of: string = digest): Json {
  const move = {
    ...{ id: 7, image: 'node', channel: 'production', from: '1.0.0', to: '1.0.1', toDigest: of },
    ...{ by: 'ann', why: 'weekly', at: '2026-03-03T00:00:00.000Z' },
  };
  return moveStatement(move, [], undefined);
}

function signed(key: SigningKey, about: Json = predicate(), type = moveType): string {
  return signStatement(statementOf(digest, 'node:1.0.1', type, about), key).toString('utf8');
}

describe('a statement in a file', () => {
  test('is taken from the key that signed it, and from no other', () => {
    const key = newKey();
    expect(openSignedMove(signed(key), 'f', [newKey().publicKey, key.publicKey])).toMatchObject({
      ...{ move: 7, image: 'node', channel: 'production', to: '1.0.1', digest, by: 'ann' },
    });
    expect(() => openSignedMove(signed(key), 'f', [newKey().publicKey])).toThrow(/no signature/);
  });

  test('with one letter changed is refused', () => {
    const key = newKey();
    const envelope = JSON.parse(signed(key)) as { payload: string; payloadType: string };
    const payload = Buffer.from(envelope.payload, 'base64').toString().replace('"ann"', '"bob"');
    const changed = { ...envelope, payload: Buffer.from(payload).toString('base64') };
    expect(() => openSignedMove(JSON.stringify(changed), 'f', [key.publicKey])).toThrow(/no signature/);
    const retyped = JSON.stringify({ ...envelope, payloadType: 'text/plain' });
    expect(() => openSignedMove(retyped, 'f', [key.publicKey])).toThrow(/no signature/);
  });

  test('that was signed for another digest than it tells of is refused', () => {
    const key = newKey();
    const other = signed(key, predicate(`sha256:${'b'.repeat(64)}`));
    expect(() => openSignedMove(other, 'f', [key.publicKey])).toThrow(/another digest/);
  });

  test('of another kind is not a move; a move without a field is refused', () => {
    const key = newKey();
    expect(openSignedMove(signed(key, {}, 'https://slsa.dev/provenance/v1'), 'f', [])).toBeUndefined();
    expect(() => openSignedMove(signed(key, { move: 7 }), 'f', [key.publicKey])).toThrow(/tells of no move/);
  });

  test.each(['', '{', '[]', '{"payload":"%"}', '{"payloadType":"x","payload":"e30=","signatures":[]}'])(
    'that is none (%j) is refused, not a crash',
    (text) => {
      const opening = () => openSignedMove(text, 'move.json', []);
      expect(opening).toThrow(expect.objectContaining({ code: 'signature-invalid' }));
    },
  );
});

test('a key file that holds no public key is refused, also a private one and one of another kind', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  for (const text of ['', 'hello', other, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()]) {
    expect(() => readPublicKey(text, 'k')).toThrow(expect.objectContaining({ code: 'key-invalid' }));
  }
});

describe('statements in an OCI layout', () => {
  test('are found at their version, and checked with the key', async () => {
    await using made = await testStore();
    const disk = diskOf([{ kind: 'text', seed: 1, blocks: 9 }]);
    const { digest: version } = await putDisk(made.store, await made.disk('d', disk));
    const key = newKey();
    await attestVersion(made.store, version, key, {
      ...{ name: 'node:1.0.1', predicateType: moveType, predicate: predicate(version) },
    });
    await attestVersion(made.store, version, key, {
      ...{ name: 'node:1.0.1', predicateType: 'https://slsa.dev/provenance/v1', predicate: {} },
    });
    const found = await readLayoutStatements(made.store.paths.root);
    const moves = found.map((one) => openSignedMove(one.envelope, one.digest, [key.publicKey]));
    expect(moves.filter((move) => move !== undefined)).toMatchObject([{ move: 7, digest: version }]);
  });

  test('that are damaged or gone are refused', async () => {
    await using made = await testStore();
    const disk = diskOf([{ kind: 'text', seed: 1, blocks: 9 }]);
    const { digest: version } = await putDisk(made.store, await made.disk('d', disk));
    await attestVersion(made.store, version, newKey(), {
      ...{ name: 'node:1.0.1', predicateType: moveType, predicate: predicate(version) },
    });
    const { root } = made.store.paths;
    const [statement] = await readLayoutStatements(root);
    const blob = join(root, 'blobs', 'sha256', statement?.digest.slice(7) ?? '');
    await rm(blob);
    await expect(readLayoutStatements(root)).rejects.toMatchObject({ code: 'store-corrupt' });
    await writeFile(blob, '{}');
    await expect(readLayoutStatements(root)).rejects.toMatchObject({ code: 'store-corrupt' });
  });
});
