// Signatures and attestations on versions, in both forms of cosign: under the tags `.sig` and `.att` as up to cosign 2,
// and as the bundles that cosign 3 writes. So `cosign verify` and `cosign verify-attestation` accept what Imago signed,
// and Imago accepts what cosign signed.
import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { DiskStore } from '../disks/disk-store.ts';
import { type Digest, digestOf } from '../layout/digest.ts';
import {
  type Annotations,
  type Descriptor,
  encodeJson,
  maxManifestSize,
  parseManifest,
} from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import { type AttachedPart, attach, fallbackTag } from '../layout/referrers.ts';
import { openBundle, signBundle } from './bundle.ts';
import { openEnvelope, type Statement, signStatement, statementOf } from './dsse.ts';
import type { SigningKey } from './key-folder.ts';
import { isTrustedAt, type Keyring, parsePublicKey, type TrustedKey } from './keyring.ts';

export interface SignOptions {
  /** Whom the version claims to be: the image's name, or where it is published. */
  readonly identity: string;
  /** The ISO time of signing, which is part of what is signed. */
  readonly at: string;
}

export interface VerifiedSignature {
  readonly key: TrustedKey;
  /** ISO time that the signer stated, if any. */
  readonly signedAt: string | undefined;
  readonly identity: string;
}

/** `other-version`: it is for another digest; `out-of-time`: made before its key began, or after it ceased, to sign. */
export type SignatureProblem = 'malformed' | 'other-version' | 'unknown-key' | 'revoked' | 'out-of-time';

export interface FoundSignature extends Omit<VerifiedSignature, 'key'> {
  /** The key of the ring that made it; `undefined` when none did. */
  readonly key: TrustedKey | undefined;
  /** Why it does not count; absent when it does. */
  readonly problem?: SignatureProblem;
}

/** Reads what is attached to a version: a store, or a version that is still in a registry. */
export type AttachmentReader = Pick<DiskStore, 'resolve' | 'referrers' | 'readBlob'>;

export interface VerifiedStatement {
  readonly key: TrustedKey;
  readonly statement: Statement;
}

const artifactTypes = {
  '.sig': 'application/vnd.dev.cosign.artifact.sig.v1+json',
  '.att': mediaTypes.inToto,
} as const;
const partTypes = { '.sig': mediaTypes.simpleSigning, '.att': mediaTypes.dsse } as const;
const payloadKind = 'cosign container image signature';
/** The statement that cosign 3 makes for a signature. */
const signaturePredicate = 'https://sigstore.dev/cosign/sign/v1';
const maxPayload = 64 * 1024 * 1024;

const payloadSchema = z.looseObject({
  critical: z.looseObject({
    identity: z.looseObject({ 'docker-reference': z.string() }),
    image: z.looseObject({ 'docker-manifest-digest': z.string() }),
    type: z.string(),
  }),
  optional: z.looseObject({ timestamp: z.number().optional() }).nullish(),
});

/** Signs a version. Signing again with the same key and identity changes nothing; signatures of others stay. */
export async function signVersion(
  store: DiskStore,
  digest: Digest,
  key: SigningKey,
  options: SignOptions,
): Promise<void> {
  await takingTurns(store, digest, () => addSignature(store, digest, key, options));
}

async function addSignature(
  store: DiskStore,
  digest: Digest,
  key: SigningKey,
  { identity, at }: SignOptions,
): Promise<void> {
  const timestamp = Math.floor(Date.parse(at) / 1000);
  const isSame = (signed: SignedPayload | undefined) =>
    signed?.identity === identity && signed.digest === digest;
  const bundles = await openBundles(store, digest, [key]);
  if (!bundles.some(({ statement, signedBy }) => signedBy.length > 0 && isSame(claimOf(statement)))) {
    await attachBundle(
      store,
      digest,
      statementOf(digest, identity, signaturePredicate, { identity, timestamp }),
      key,
    );
  }
  const parts = await partsUnder(store, digest, '.sig');
  if (parts.some((part) => isSame(readPayload(part)) && isSignedBy(part, key.publicKey))) return;
  const payload = encodeJson({
    critical: {
      identity: { 'docker-reference': identity },
      image: { 'docker-manifest-digest': digest },
      type: payloadKind,
    },
    optional: { creator: 'imago', timestamp },
  } satisfies z.input<typeof payloadSchema>);
  const signature = sign('sha256', payload, key.privateKey).toString('base64');
  parts.push({
    mediaType: mediaTypes.simpleSigning,
    bytes: payload,
    annotations: { [annotationKeys.signature]: signature },
  });
  await attachUnder(store, digest, '.sig', parts);
}

/** Lists every signature on a version, each once, with the reason if it is not valid. */
export async function readSignatures(
  store: AttachmentReader,
  digest: Digest,
  ring: Keyring,
): Promise<FoundSignature[]> {
  const keys = ring.keys.map((key) => ({ key, publicKey: parsePublicKey(key.publicKey) }));
  const found = new Map<string, FoundSignature>();
  const add = (key: TrustedKey | undefined, payload: SignedPayload | undefined) => {
    const problem = signatureProblem(digest, key, payload);
    const { identity = '', signedAt } = payload ?? {};
    const one = { key, identity, signedAt, ...(problem !== undefined && { problem }) };
    found.set(JSON.stringify([key?.id, identity, signedAt, problem]), one);
  };
  for (const part of await partsUnder(store, digest, '.sig')) {
    add(keys.find(({ publicKey }) => isSignedBy(part, publicKey))?.key, readPayload(part));
  }
  for (const { statement, signedBy } of await openBundles(store, digest, keys)) {
    if (statement.predicateType === signaturePredicate) add(signedBy[0]?.key, claimOf(statement));
  }
  return [...found.values()];
}

function signatureProblem(
  digest: Digest,
  key: TrustedKey | undefined,
  payload: SignedPayload | undefined,
): SignatureProblem | undefined {
  if (payload === undefined) return 'malformed';
  if (payload.digest !== digest) return 'other-version';
  if (key === undefined) return 'unknown-key';
  if (key.revoked !== undefined) return 'revoked';
  return isTrustedAt(key, payload.signedAt) ? undefined : 'out-of-time';
}

/** Attaches a signed in-toto statement about a version: provenance, test evidence. The same again adds nothing. */
export async function attestVersion(
  store: DiskStore,
  digest: Digest,
  key: SigningKey,
  about: { readonly name: string; readonly predicateType: string; readonly predicate: Json },
): Promise<void> {
  const statement = statementOf(digest, about.name, about.predicateType, about.predicate);
  await takingTurns(store, digest, () => addStatement(store, digest, key, statement));
}

async function addStatement(
  store: DiskStore,
  digest: Digest,
  key: SigningKey,
  statement: Statement,
): Promise<void> {
  const isSame = (opened: OpenedStatement<SigningKey>) =>
    opened.signedBy.length > 0 && JSON.stringify(opened.statement) === JSON.stringify(statement);
  if (!(await openBundles(store, digest, [key])).some(isSame)) {
    await attachBundle(store, digest, statement, key);
  }
  const parts = await partsUnder(store, digest, '.att');
  if (parts.some((part) => isSame(openEnvelope(part.bytes, [key])))) return;
  parts.push({
    mediaType: mediaTypes.dsse,
    bytes: signStatement(statement, key),
    annotations: { [annotationKeys.signature]: '', [annotationKeys.predicateType]: statement.predicateType },
  });
  await attachUnder(store, digest, '.att', parts);
}

/** Lists the statements about a version that trusted keys signed, each once, of one kind if it is given. */
export async function verifyStatements(
  store: DiskStore,
  digest: Digest,
  ring: Keyring,
  predicateType?: string,
): Promise<VerifiedStatement[]> {
  const keys = ring.keys
    .filter((key) => isTrustedAt(key, undefined))
    .map((key) => ({ trusted: key, publicKey: parsePublicKey(key.publicKey) }));
  const envelopes = (await partsUnder(store, digest, '.att')).map((part) => openEnvelope(part.bytes, keys));
  const found = new Map<string, VerifiedStatement>();
  for (const { statement, signedBy } of [...envelopes, ...(await openBundles(store, digest, keys))]) {
    const isWanted =
      predicateType === undefined
        ? statement.predicateType !== signaturePredicate
        : statement.predicateType === predicateType;
    if (!isWanted || !isAbout(statement, digest)) continue;
    for (const { trusted } of signedBy) {
      found.set(JSON.stringify([trusted.id, statement]), { key: trusted, statement });
    }
  }
  return [...found.values()];
}

function isAbout({ subject }: Statement, digest: Digest): boolean {
  return subject.some((one) => `sha256:${one.digest.sha256}` === digest);
}

/** Signatures of one version share a manifest: two signers must not overwrite each other's. */
async function takingTurns(store: DiskStore, digest: Digest, work: () => Promise<void>): Promise<void> {
  await store.owner.inTurn(`sign ${digest}`, work);
}

/** Reads what a signature in a bundle claims. cosign names no image and no time; Imago adds both. */
function claimOf({ subject, predicate }: Statement): SignedPayload {
  const claim = claimSchema.safeParse(predicate).data;
  return {
    digest: `sha256:${subject[0]?.digest.sha256 ?? ''}`,
    identity: claim?.identity ?? subject[0]?.name ?? '',
    signedAt: claim?.timestamp === undefined ? undefined : isoTime(claim.timestamp),
  };
}

const claimSchema = z.looseObject({ identity: z.string().optional(), timestamp: z.number().optional() });

function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

interface OpenedStatement<K> {
  readonly statement: Statement;
  readonly signedBy: readonly K[];
}

/** Opens the bundles that are attached to a version. One that cannot be read is skipped. */
async function openBundles<K extends { readonly publicKey: KeyObject }>(
  store: AttachmentReader,
  digest: Digest,
  keys: readonly K[],
): Promise<OpenedStatement<K>[]> {
  const opened: OpenedStatement<K>[] = [];
  for (const referrer of await store.referrers(digest, mediaTypes.bundle)) {
    const { layers } = parseManifest(
      await store.readBlob(referrer.digest, maxManifestSize),
      `manifest ${referrer.digest}`,
    );
    for (const layer of layers.filter(({ mediaType }) => mediaType === mediaTypes.bundle)) {
      try {
        opened.push(await openBundle(await store.readBlob(layer.digest, maxPayload), keys));
      } catch (error) {
        if (!(error instanceof ImagoError) || error.code !== 'signature-invalid') throw error;
      }
    }
  }
  return opened;
}

async function attachBundle(
  store: DiskStore,
  digest: Digest,
  statement: Statement,
  key: SigningKey,
): Promise<void> {
  await attach(store, digest, {
    artifactType: mediaTypes.bundle,
    parts: [{ mediaType: mediaTypes.bundle, bytes: await signBundle(statement, key) }],
    annotations: {
      [annotationKeys.bundleContent]: 'dsse-envelope',
      [annotationKeys.bundlePredicate]: statement.predicateType,
    },
  });
}

interface SignedPayload {
  readonly digest: string;
  readonly identity: string;
  readonly signedAt: string | undefined;
}

function readPayload(part: AttachedPart): SignedPayload | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(part.bytes).toString('utf8'));
  } catch {
    return undefined;
  }
  const parsed = payloadSchema.safeParse(value);
  if (!parsed.success || parsed.data.critical.type !== payloadKind) return undefined;
  const { critical, optional } = parsed.data;
  const seconds = optional?.timestamp;
  return {
    digest: critical.image['docker-manifest-digest'],
    identity: critical.identity['docker-reference'],
    signedAt: seconds === undefined ? undefined : isoTime(seconds),
  };
}

function isSignedBy(part: AttachedPart, publicKey: SigningKey['publicKey']): boolean {
  const signature = part.annotations?.[annotationKeys.signature];
  return signature !== undefined && verify('sha256', part.bytes, publicKey, Buffer.from(signature, 'base64'));
}

/**
 * The parts of every manifest that is attached as a signature or statement: under cosign's tag, and as a referrer, for
 * copies that others made with what refers to a version and without its tags. Each part once.
 */
async function partsUnder(
  store: AttachmentReader,
  digest: Digest,
  suffix: '.sig' | '.att',
): Promise<AttachedPart[]> {
  const tagged = await store.resolve(fallbackTag(digest, suffix));
  const attached = (await store.referrers(digest, artifactTypes[suffix])).map((referrer) => referrer.digest);
  const parts = new Map<string, AttachedPart>();
  for (const found of new Set([...attached, ...(tagged === undefined ? [] : [tagged])])) {
    const { layers } = parseManifest(await store.readBlob(found, maxManifestSize), `manifest ${found}`);
    for (const layer of layers) {
      if (found !== tagged && layer.mediaType !== partTypes[suffix]) continue;
      const key = `${layer.digest} ${layer.annotations?.[annotationKeys.signature] ?? ''}`;
      if (!parts.has(key)) parts.set(key, await readPart(store, layer));
    }
  }
  return [...parts.values()];
}

async function readPart(store: AttachmentReader, layer: Descriptor): Promise<AttachedPart> {
  const annotations: Annotations = layer.annotations ?? {};
  return { mediaType: layer.mediaType, bytes: await store.readBlob(layer.digest, maxPayload), annotations };
}

/** cosign wants an image config that lists its layers. */
async function attachUnder(
  store: DiskStore,
  digest: Digest,
  suffix: '.sig' | '.att',
  parts: readonly AttachedPart[],
): Promise<void> {
  const config = encodeJson({
    architecture: '',
    os: '',
    config: {},
    rootfs: { type: 'layers', diff_ids: parts.map((part) => digestOf(part.bytes)) },
  });
  await attach(store, digest, {
    artifactType: artifactTypes[suffix],
    parts,
    config: { mediaType: mediaTypes.imageConfig, bytes: config },
    tag: fallbackTag(digest, suffix),
  });
}
