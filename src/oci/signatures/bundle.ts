// Signed statements in the bundle format that cosign 3 writes: one DSSE envelope with a hint of its key, attached to a
// version as a referrer. The libraries are loaded when the first bundle is read or written.
import { createHash, type KeyObject, sign } from 'node:crypto';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { parseStatement, preAuthEncoding, type Statement } from './dsse.ts';
import type { SigningKey } from './key-folder.ts';

/** Signs a statement and wraps it into a bundle. */
export async function signBundle(statement: Statement, key: SigningKey): Promise<Buffer> {
  const { bundleToJSON, toDSSEBundle } = await import('@sigstore/bundle');
  const artifact = Buffer.from(JSON.stringify(statement));
  const signature = sign('sha256', preAuthEncoding(mediaTypes.inToto, artifact), key.privateKey);
  const keyHint = createHash('sha256')
    .update(key.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('base64');
  const bundle = toDSSEBundle({ artifact, artifactType: mediaTypes.inToto, signature, keyHint });
  return Buffer.from(JSON.stringify(bundleToJSON(bundle)));
}

/**
 * Returns the statement, and which of the keys signed it: the empty list if none did. Throws `signature-invalid` if the
 * bundle has no statement that was signed by a key. Keys are trusted by our own ring, so a bundle's log entries and
 * timestamps are not consulted.
 */
export async function openBundle<K extends { readonly publicKey: KeyObject }>(
  bytes: Uint8Array,
  keys: readonly K[],
): Promise<{ readonly statement: Statement; readonly signedBy: readonly K[] }> {
  const [{ bundleFromJSON }, { toSignedEntity, Verifier }] = await Promise.all([
    import('@sigstore/bundle'),
    import('@sigstore/verify'),
  ]);
  let bundle: ReturnType<typeof bundleFromJSON>;
  try {
    bundle = bundleFromJSON(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw new ImagoError('signature-invalid', 'the bundle of a signature cannot be read', { cause });
  }
  const isKeyed = bundle.verificationMaterial.content.$case === 'publicKey';
  if (bundle.content.$case !== 'dsseEnvelope' || !isKeyed) {
    throw new ImagoError('signature-invalid', 'the bundle of a signature has no statement signed by a key');
  }
  const statement = parseStatement(bundle.content.dsseEnvelope.payload);
  const entity = { ...toSignedEntity(bundle), timestamps: [], tlogEntries: [] };
  const isSignedBy = ({ publicKey }: K): boolean => {
    const verifier = new Verifier(
      {
        ...{ certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
        publicKey: () => ({ publicKey, validFor: () => true }),
      },
      { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 },
    );
    try {
      verifier.verify(entity);
      return true;
    } catch {
      return false;
    }
  };
  return { statement, signedBy: keys.filter(isSignedBy) };
}
