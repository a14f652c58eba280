// Signs statements about versions with the current key: returns the envelope, and attaches a copy to the version if the
// store has it, so that registries receive it too.
import type { KeyObject } from 'node:crypto';
import { ImagoError } from '../domain/error/imago-error.ts';
import { parseDigest } from '../oci/layout/digest.ts';
import { openEnvelope, signStatement, statementOf } from '../oci/signatures/dsse.ts';
import { isTrustedAt, parsePublicKey } from '../oci/signatures/keyring.ts';
import { attestVersion } from '../oci/signatures/sign.ts';
import type { Attestor } from '../ports/image-store/attestor.ts';
import type { VersionsContext } from './context.ts';

export interface AttestorContext extends Pick<VersionsContext, 'store' | 'keys' | 'passphrase' | 'now'> {
  /** Whether the store has the version. Opens nothing when nothing was ever stored. */
  has(digest: string): Promise<boolean>;
}

export function createAttestor({ store, keys, passphrase, now, has }: AttestorContext): Attestor {
  const loadKey = () => keys.signer(new Date(now()).toISOString(), passphrase);
  return {
    ready: async () => (await loadKey()) !== undefined,
    async attest({ digest: text, name, predicateType, predicate }) {
      const key = await loadKey();
      if (key === undefined) return undefined;
      const digest = parseDigest(text);
      if (await has(text)) {
        await attestVersion(await store(), digest, key, { name, predicateType, predicate });
      }
      return signStatement(statementOf(digest, name, predicateType, predicate), key).toString('utf8');
    },
    async problem(envelope) {
      const ring = (await keys.keyring()).keys.map((known) => ({
        ...{ known, publicKey: parsePublicKey(known.publicKey) },
      }));
      const signers = signersOf(envelope, ring)?.map(({ known }) => known);
      if (signers === undefined) return 'it cannot be read';
      if (signers.some((key) => isTrustedAt(key, undefined))) return undefined;
      const revoked = signers.find((key) => key.revoked !== undefined);
      return revoked === undefined
        ? 'no key that is trusted here made it'
        : `its key was revoked: ${revoked.revoked}`;
    },
  };
}

/** Returns `undefined` for anything else than an envelope. */
function signersOf<K extends { readonly publicKey: KeyObject }>(
  envelope: string,
  ring: readonly K[],
): readonly K[] | undefined {
  try {
    return openEnvelope(Buffer.from(envelope), ring).signedBy;
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'signature-invalid') return undefined;
    throw thrown;
  }
}
