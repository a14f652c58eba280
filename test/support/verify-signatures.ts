// The valid signatures of a version.
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import type { DiskStore } from '../../src/oci/disks/disk-store.ts';
import type { Digest } from '../../src/oci/layout/digest.ts';
import type { Keyring } from '../../src/oci/signatures/keyring.ts';
import { readSignatures, type VerifiedSignature } from '../../src/oci/signatures/sign.ts';

/** Returns the signatures by keys of the ring in their time. Throws `signature-missing` if there are none. */
export async function verifySignatures(
  store: DiskStore,
  digest: Digest,
  ring: Keyring,
): Promise<VerifiedSignature[]> {
  const found = (await readSignatures(store, digest, ring)).flatMap(({ key, problem, ...signed }) =>
    key === undefined || problem !== undefined ? [] : [{ ...signed, key }],
  );
  if (found.length > 0) return found;
  throw new ImagoError('signature-missing', `${digest} bears no signature of a key that is trusted`);
}
