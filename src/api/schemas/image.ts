// Records, signatures, keys, and copies of versions.
import * as z from 'zod';
import { exportFormatNames } from '../../domain/image/disk-file.ts';
import { numberingPolicies } from '../../domain/image/numbering.ts';
import { architectures } from '../../domain/image/version.ts';
import { json, listOf, name, record, request, sentence, timestamp } from './common.ts';

export const recordKind = z.enum(['notes', 'notes-markdown', 'cyclonedx', 'spdx', 'inventory', 'provenance']);

export const diffQuery = z.strictObject({
  to: name.describe('Reference of the version to compare with.'),
});

export const versionDiff = record('VersionDiff', 'The differences between two versions.', {
  before: z.string(),
  after: z.string(),
  same: z.boolean(),
  diff: json.describe('Differences in packages, files, units, settings, container images, and sizes.'),
  text: z.string().describe('The differences as text.'),
});

export const exportQuery = z.strictObject({
  format: z.enum(exportFormatNames).default('vhd').describe('`vhd` is a fixed VHD, as Azure requires.'),
});

const signatureFields = {
  identity: z.string().describe('Name that was signed.'),
  signedAt: timestamp.optional(),
  owner: z.string().optional().describe('Owner of the key, if it is not of this installation.'),
  counts: z.boolean().describe('Whether a trusted key made it within its validity period.'),
  expired: z
    .literal(true)
    .optional()
    .describe('Its key has expired since; a `signed` gate requires a newer one.'),
  problem: z.string().optional().describe('Why it is not valid.'),
};

export const signature = record('Signature', 'A signature by a trusted key.', {
  key: z.string(),
  ...signatureFields,
});

const foundSignature = record('FoundSignature', 'A signature of a version, valid or not.', {
  key: z.string().optional().describe('Absent if the key is unknown.'),
  ...signatureFields,
});

export const verifyRequest = request('VerifyRequest', {
  reference: name,
  heal: z.boolean().optional().describe('Repair damaged data. Defaults to true.'),
  registry: sentence.optional().describe('HOST/REPOSITORY that has a copy.'),
  requireSignature: z.boolean().optional().describe('Fail if no trusted key signed it.'),
});

export const upload = record('Upload', 'An uploaded disk, stored for one day.', {
  id: z.string(),
  sizeBytes: z.number(),
  format: z.string(),
});

const number = name.optional().describe('Version number. Defaults to the next one.');
const architecture = z.enum(architectures).optional();
const numbering = z.enum(numberingPolicies).optional();

export const importRequest = request('ImportRequest', {
  upload: name.optional().describe('Id of the upload. A dry run without it checks the other fields.'),
  image: name,
  file: sentence.describe('Name of the file.'),
  version: number,
  os: z.enum(['linux', 'windows']).optional(),
  architecture,
  numbering,
  kubernetes: name.optional(),
  lock: z
    .string()
    .min(1)
    .optional()
    .describe('Lock that a Windows disk was built from, for its release notes and SBOM.'),
});

export const pushRequest = request('PushRequest', {
  reference: name.describe('Version to push, not a bare image name.'),
  to: sentence.describe('HOST/REPOSITORY[:TAG]. The tag defaults to the version number.'),
});

export const pullRequest = request('PullRequest', {
  from: sentence.describe('HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.'),
  image: name.optional().describe('Image to add the version to. Defaults to its own.'),
  version: number,
  architecture,
  numbering,
  allowUnsigned: z.boolean().optional().describe('Accept it without a valid signature of a trusted key.'),
});

export const publishRequest = request('PublishRequest', {
  reference: name.describe('Version to publish, not a bare image name.'),
  provider: name.optional().describe("Provider of the gallery. Defaults to the daemon's provider."),
  gallery: name.optional().describe('Registered gallery, instead of a provider.'),
  regions: z
    .array(z.strictObject({ region: name, replicas: z.int().min(1).max(100) }))
    .max(100)
    .optional()
    .describe('Additional regions. No copy is deleted.'),
  deep: z.boolean().optional().describe('Read the disk back and compare every byte.'),
});

export const key = record('Key', 'A signing key.', {
  id: z.string(),
  publicKey: z.string().describe('PEM, for `cosign verify --key`.'),
  owner: z.string().optional().describe('Owner, if it is not of this installation.'),
  validFrom: timestamp,
  validUntil: timestamp.optional().describe('End of its validity period.'),
  revoked: z.string().optional().describe('Why it was revoked.'),
  signs: z.boolean().describe('Whether it is the active key.'),
});

export const revokeKeyRequest = request('RevokeKeyRequest', { reason: sentence });

export const trustKeyRequest = z
  .strictObject({
    owner: name.describe('Owner of the key.'),
    publicKey: z.string().min(1).max(10_000).describe('PEM; ECDSA on P-256.'),
    validFrom: timestamp.optional().describe('Start of its validity period.'),
    validUntil: timestamp.optional().describe('End of its validity period.'),
    revoked: sentence.optional().describe('Why it was revoked.'),
  })
  .meta({ id: 'TrustKeyRequest', description: 'A key of another installation.' });

export const signatures = z.object({ items: listOf(foundSignature) });
