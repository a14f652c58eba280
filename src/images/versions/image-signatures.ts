// Signing versions with the key of now, and telling which signatures count.
import { ImagoError } from '../../domain/errors.ts';
import { type Lock, packagesIn } from '../../domain/lock.ts';
import type { ImageSignature, ImageSignatures, SignRequest } from '../../ports/image-store.ts';
import type { SigningKeyRecord, SigningKeys } from '../../ports/signing-keys.ts';
import { attestProvenance } from '../inventory/provenance.ts';
import { hexOf, parseDigest } from '../store/digest.ts';
import type { DiskStore } from '../store/disk-store.ts';
import type { SigningKey } from '../store/key-folder.ts';
import { type Keyring, signingKey } from '../store/keyring.ts';
import { signVersion, verifySignatures } from '../store/sign.ts';
import type { VersionsContext } from './versions-context.ts';

type SignContext = Pick<VersionsContext, 'store' | 'keys' | 'passphrase' | 'tool'>;

export function imageSignatures(context: SignContext): ImageSignatures {
  return {
    async sign(request) {
      if (signingKey(await context.keys.keyring(), request.at) === undefined) return undefined;
      const key = await context.keys.load(request.at, context.passphrase);
      const store = await context.store();
      const digest = parseDigest(request.digest);
      await attest(context, store, key, request);
      await signVersion(store, digest, key, { identity: request.image, at: request.at });
      return { key: key.id, identity: request.image, signedAt: request.at };
    },
    async list(digest) {
      const found = await verifySignatures(
        await context.store(),
        parseDigest(digest),
        await context.keys.keyring(),
      ).catch(noneThatCounts);
      return found.map(({ key, identity, signedAt }) => ({
        key: key.id,
        identity,
        ...(signedAt !== undefined && { signedAt }),
      })) satisfies readonly ImageSignature[];
    },
  };
}

async function attest(
  context: SignContext,
  store: DiskStore,
  key: SigningKey,
  { provenance, digest: text, image, version }: SignRequest,
): Promise<void> {
  if (provenance === undefined) return;
  const digest = parseDigest(text);
  const { sha256 } = await store.inspect(digest);
  const { operation, startedAt, finishedAt } = provenance;
  const lock = provenance.lock as unknown as Lock;
  const tools = packagesIn(lock, 'tools').map(({ name, version: number }) => [name, number] as const);
  await attestProvenance(store, digest, key, {
    ...{ image, version, lock, operation, startedAt, finishedAt },
    tool: context.tool,
    toolVersions: Object.fromEntries(tools),
    diskSha256: hexOf(sha256),
  });
}

function noneThatCounts(error: unknown): [] {
  if (error instanceof ImagoError && error.code === 'signature-missing') return [];
  throw error;
}

export function signingKeys({
  keys,
  passphrase,
  now,
}: Pick<VersionsContext, 'keys' | 'passphrase' | 'now'>): SigningKeys {
  const time = () => new Date(now()).toISOString();

  function records(ring: Keyring): readonly SigningKeyRecord[] {
    const current = signingKey(ring, time());
    return ring.keys.map((key) => ({ ...key, signs: key.id === current?.id }));
  }

  async function requireKey(id: string): Promise<SigningKeyRecord> {
    const found = records(await keys.keyring()).find((key) => key.id === id);
    if (found !== undefined) return found;
    throw new ImagoError('key-not-found', `There is no key ${id}.`, { hint: 'See `imago keys list`.' });
  }

  return {
    list: async () => records(await keys.keyring()),
    async create() {
      const { id } = await keys.create(time(), passphrase);
      return requireKey(id);
    },
    async revoke(id, reason) {
      await requireKey(id);
      await keys.revoke(id, reason);
      return requireKey(id);
    },
  };
}
