// Records, signatures, keys, and copies of versions.
import * as z from 'zod';
import { exportFormatNames } from '../../domain/image/disk-file.ts';
import { json, listOf, name, record, request, sentence, timestamp } from '../../domain/value/fields.ts';

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

export const upload = record('Upload', 'An uploaded disk, stored for one day.', {
  id: z.string(),
  sizeBytes: z.number(),
  format: z.string(),
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
