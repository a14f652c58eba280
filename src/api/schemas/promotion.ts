// Requests for channels, approvals, scan reports, overrides, and releases.
import * as z from 'zod';
import { attestation } from '../../domain/channel/attestation.ts';
import { reportFormats } from '../../domain/evidence/finding.ts';
import { release } from '../../domain/release/operations.ts';
import { digest, listOf, name, record, request, sentence, timestamp } from '../../domain/value/fields.ts';

export const newChannel = request('NewChannel', {
  name,
  forTesting: z.boolean().default(false).describe('Accept candidate versions.'),
  public: z.boolean().default(false).describe('Restricted versions never reach it.'),
  after: name.optional().describe('Insert after this channel. Defaults to the last one.'),
});

export const deleteChannelQuery = z.strictObject({
  why: sentence,
  expect: name.optional().describe('Fail unless the channel points to this version (`none`: it is empty).'),
});

export const approvalRequest = request('ApprovalRequest', {
  channel: name,
  approve: z.boolean().default(true).describe('`false` rejects the version, or withdraws an approval.'),
  why: sentence.optional(),
});

const count = z.int().min(0);

/** The summary of a report, which the client reads: reports can exceed the size limit of requests. */
export const scanRequest = request('ScanRequest', {
  format: z.enum(reportFormats),
  tool: z.string().min(1).max(200),
  toolVersion: z.string().max(200).optional(),
  counts: z.strictObject({ critical: count, high: count, medium: count, low: count, unknown: count }),
  dismissed: count.describe('Number of findings that VEX or a suppression excludes.'),
  findings: z
    .array(
      z.strictObject({
        id: z.string().max(300),
        level: z.enum(['low', 'medium', 'high', 'critical']).optional(),
        where: z.string().max(500).optional(),
      }),
    )
    .max(500)
    .describe('Most severe findings.'),
  subjects: z
    .array(z.string().max(200))
    .max(20)
    .describe('sha256 of the scanned artifacts, if the report has it.'),
  reportDigest: digest.describe('Digest of the report.'),
});

export const moveAttestation = record('MoveAttestation', 'The signed attestation of a channel move.', {
  ...attestation.omit({ id: true }).shape,
  problem: z.string().optional().describe('Why its signature is no longer valid.'),
  earlier: listOf(z.object({ envelope: z.string(), at: timestamp })).describe(
    'Earlier attestations of the move, newest first.',
  ),
});

export const scheduledRelease = request('ScheduledReleaseRequest', {
  ...release.routes.createRelease.body.shape,
  name: name.describe('Name of the schedule.'),
  cron: name.describe('Cron expression, 5 or 6 fields.'),
  timeZone: name.optional().describe('IANA time zone. Defaults to UTC.'),
});
