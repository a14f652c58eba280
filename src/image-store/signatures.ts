// Signing versions with the key of now, and telling which signatures count.
import { packagesIn } from '../domain/lock/lock.ts';
import { attestProvenance } from '../inventory/provenance.ts';
import { type DiskStore, describeDisk } from '../oci/disks/disk-store.ts';
import { type Digest, hexOf, parseDigest } from '../oci/layout/digest.ts';
import type { SigningKey } from '../oci/signatures/key-folder.ts';
import {
  type Keyring,
  keyId,
  parsePublicKey,
  requireKey,
  signingKey,
  type TrustedKey,
  trustKey,
  untrustKey,
} from '../oci/signatures/keyring.ts';
import {
  type AttachmentReader,
  type FoundSignature,
  readSignatures,
  type SignatureProblem,
  signVersion,
} from '../oci/signatures/sign.ts';
import type { ImageSignature, ImageSignatures, SignRequest } from '../ports/image-store/image-store.ts';
import type { SigningKeyRecord, SigningKeys } from '../ports/image-store/signing-keys.ts';
import type { VersionsContext } from './context.ts';

type SignContext = Pick<VersionsContext, 'store' | 'keys' | 'passphrase' | 'signs' | 'tool' | 'now'>;

export function imageSignatures(context: SignContext): ImageSignatures {
  return {
    async sign(request) {
      const { keys, passphrase, signs } = context;
      let key = await keys.signer(request.at, passphrase);
      if (key === undefined && request.makeKey === true && signs) {
        await keys.createFirst(request.at, passphrase);
        key = await keys.signer(request.at, passphrase);
      }
      if (key === undefined) return undefined;
      const store = await context.store();
      const digest = parseDigest(request.digest);
      await attest(context, store, key, request);
      await signVersion(store, digest, key, { identity: request.image, at: request.at });
      return { key: key.id, identity: request.image, signedAt: request.at, counts: true };
    },
    list: async (digest) => listSignatures(context, await context.store(), parseDigest(digest)),
  };
}

/** Every signature on a version that the reader finds, judged by the keys that are trusted here. */
export async function listSignatures(
  { keys, now }: Pick<VersionsContext, 'keys' | 'now'>,
  reader: AttachmentReader,
  digest: Digest,
): Promise<readonly ImageSignature[]> {
  const found = await readSignatures(reader, digest, await keys.keyring());
  return found.map((one) => describe(one, now()));
}

function describe({ key, identity, signedAt, problem }: FoundSignature, now: number): ImageSignature {
  const ended = key?.validUntil !== undefined && Date.parse(key.validUntil) <= now;
  return {
    ...(key !== undefined && { key: key.id }),
    ...(key?.owner !== undefined && { owner: key.owner }),
    identity,
    ...(signedAt !== undefined && { signedAt }),
    counts: problem === undefined,
    ...(ended && { expired: true }),
    ...(problem !== undefined && { problem: sentences[problem](key) }),
  };
}

const sentences: Readonly<Record<SignatureProblem, (key: TrustedKey | undefined) => string>> = {
  malformed: () => 'it cannot be read',
  'other-version': () => 'it is for another version',
  'unknown-key': () => 'no key that is trusted here made it',
  revoked: (key) => `its key was revoked: ${key?.revoked}`,
  'out-of-time': () => 'it was made before its key began to sign, or after it ceased to',
};

async function attest(
  context: SignContext,
  store: DiskStore,
  key: SigningKey,
  { provenance, digest: text, image, version }: SignRequest,
): Promise<void> {
  if (provenance === undefined) return;
  const digest = parseDigest(text);
  const { sha256 } = await describeDisk(store, digest);
  const { operation, startedAt, finishedAt, source, timings } = provenance;
  const lock = provenance.lock;
  const tools = packagesIn(lock, 'tools').map(({ name, version: number }) => [name, number] as const);
  await attestProvenance(store, digest, key, {
    ...{ image, version, lock, operation, startedAt, finishedAt, source, timings },
    tool: context.tool,
    toolVersions: Object.fromEntries(tools),
    diskSha256: hexOf(sha256),
  });
}

export function signingKeys({
  keys,
  passphrase,
  now,
}: Pick<VersionsContext, 'keys' | 'passphrase' | 'now'>): SigningKeys {
  const time = () => new Date(now()).toISOString();

  function toRecord(ring: Keyring, key: TrustedKey): SigningKeyRecord {
    return { ...key, signs: key.id === signingKey(ring, time())?.id };
  }

  async function recordOf(id: string): Promise<SigningKeyRecord> {
    const ring = await keys.keyring();
    return toRecord(ring, requireKey(ring, id));
  }

  return {
    async list() {
      const ring = await keys.keyring();
      return ring.keys.map((key) => toRecord(ring, key));
    },
    create: async () => recordOf((await keys.create(time(), passphrase)).id),
    async revoke(id, reason) {
      await keys.revoke(id, reason);
      return recordOf(id);
    },
    async trust(given, { dryRun = false } = {}) {
      if (!dryRun) return recordOf((await keys.trust(given)).id);
      const ring = trustKey(await keys.keyring(), given);
      return toRecord(ring, requireKey(ring, keyId(parsePublicKey(given.publicKey))));
    },
    async forget(id, { dryRun = false } = {}) {
      const ring = await keys.keyring();
      untrustKey(ring, id);
      if (!dryRun) await keys.forget(id);
      return toRecord(ring, requireKey(ring, id));
    },
  };
}
