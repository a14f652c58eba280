// Copies, records and signatures of versions.
import * as z from 'zod';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import { json, listOf, name, sentence, timestamp } from './common.ts';

export const recordKind = z.enum(['notes', 'notes-markdown', 'cyclonedx', 'spdx', 'inventory', 'provenance']);

/** Not one JSON document. */
export const bytes = z.unknown();

export const diffQuery = z.strictObject({
  to: name.describe('The version to compare with, as a reference.'),
});

export const versionDiff = z
  .object({
    before: z.string(),
    after: z.string(),
    same: z.boolean(),
    diff: json.describe('Packages, files, units, settings, container images and sizes that differ.'),
    text: z.string().describe('The same for people.'),
  })
  .meta({ id: 'VersionDiff', description: 'What differs between two versions.' });

export const exportQuery = z.strictObject({
  format: z
    .enum(['vhd', 'vhd-dynamic', 'raw', 'qcow2'])
    .default('vhd')
    .describe('`vhd` is a fixed VHD, as Azure wants it.'),
});

const signatureFields = {
  identity: z.string().describe('The name that it was signed under.'),
  signedAt: timestamp.optional(),
  owner: z.string().optional().describe("Whose key it is, if not this installation's."),
  counts: z.boolean().describe('Made by a trusted key, in its time.'),
  expired: z.literal(true).optional().describe('Its key has ended since; a `signed` gate wants a fresh one.'),
  problem: z.string().optional().describe('Why it does not count.'),
};

export const signature = z
  .object({ key: z.string(), ...signatureFields })
  .meta({ id: 'Signature', description: 'A signature by a key that is trusted.' });

const foundSignature = z
  .object({ key: z.string().optional().describe('Absent when it is not known here.'), ...signatureFields })
  .meta({ id: 'FoundSignature', description: 'A signature that a version bears, whether it counts or not.' });

export const verifyRequest = z
  .strictObject({
    reference: name,
    heal: z.boolean().optional().describe('Mend what is damaged. Yes unless given.'),
    registry: sentence.optional().describe('HOST/REPOSITORY that has a copy.'),
    requireSignature: z.boolean().optional().describe('Fail when no trusted key signed it.'),
  })
  .meta({ id: 'VerifyRequest' });

export const upload = z
  .object({ id: z.string(), sizeBytes: z.number(), format: z.string() })
  .meta({ id: 'Upload', description: 'A disk that was taken in; kept for a day.' });

const number = name.optional().describe('The number to have; the next one by the policy unless given.');
const architecture = z.enum(architectures).optional();
const numbering = z.enum(numberingPolicies).optional();

export const importRequest = z
  .strictObject({
    upload: name
      .optional()
      .describe('The id of the upload. A dry run without it checks the rest, before a byte is sent.'),
    image: name,
    file: sentence.describe('What the file was called.'),
    version: number,
    os: z.enum(['linux', 'windows']).optional(),
    architecture,
    numbering,
    kubernetes: name.optional(),
    lock: z
      .string()
      .min(1)
      .optional()
      .describe('The text of the lock that a disk of Windows was built from: its notes are made from it.'),
  })
  .meta({ id: 'ImportRequest' });

export const pushRequest = z
  .strictObject({
    reference: name.describe('The version to send; not a bare image name.'),
    to: sentence.describe("HOST/REPOSITORY[:TAG]; the tag is the version's number unless given."),
  })
  .meta({ id: 'PushRequest' });

export const pullRequest = z
  .strictObject({
    from: sentence.describe('HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.'),
    image: name.optional().describe('The image that it becomes a version of; its own name unless given.'),
    version: number,
    architecture,
    numbering,
    allowUnsigned: z
      .boolean()
      .optional()
      .describe('Accept it without a valid signature of a trusted key; refused by default.'),
  })
  .meta({ id: 'PullRequest' });

export const publishRequest = z
  .strictObject({
    reference: name.describe('The version to publish; not a bare image name.'),
    provider: name.optional().describe("Whose gallery; defaults to the daemon's own provider."),
    gallery: name.optional().describe('A gallery that Imago was told of, in place of a provider.'),
    regions: z
      .array(z.strictObject({ region: name, replicas: z.int().min(1).max(100) }))
      .max(100)
      .optional()
      .describe('Where else to have copies; none is taken away.'),
    deep: z.boolean().optional().describe('Read the disk back and compare every byte.'),
  })
  .meta({ id: 'PublishRequest' });

export const key = z
  .object({
    id: z.string(),
    publicKey: z.string().describe('PEM, for `cosign verify --key`.'),
    owner: z.string().optional().describe("Whose it is, if not this installation's: it signs nothing here."),
    validFrom: timestamp,
    validUntil: timestamp.optional().describe('Signs nothing new since then.'),
    revoked: z.string().optional().describe('Why nothing that it signed counts any more.'),
    signs: z.boolean().describe('Whether it is the one that signs now.'),
  })
  .meta({ id: 'Key', description: 'What versions are signed with.' });

export const revokeKeyRequest = z.strictObject({ reason: sentence }).meta({ id: 'RevokeKeyRequest' });

export const trustKeyRequest = z
  .strictObject({
    owner: name.describe('Whose key it is.'),
    publicKey: z.string().min(1).max(10_000).describe('PEM; ECDSA on P-256.'),
    validFrom: timestamp.optional().describe('What it signed before does not count.'),
    validUntil: timestamp.optional().describe('What it signed since then does not count.'),
    revoked: sentence.optional().describe('Why nothing that it signed counts any more.'),
  })
  .meta({ id: 'TrustKeyRequest', description: 'A key of another installation.' });

export const signatures = z.object({ items: listOf(foundSignature) });
