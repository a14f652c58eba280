// Requests of promotion: channels, approvals, scan reports, overrides, releases.
import * as z from 'zod';
import { reportFormats } from '../../domain/evidence/finding.ts';
import { gateNames } from '../../domain/gate/facts.ts';
import { promoteRequest } from './catalog.ts';
import { digest, listOf, name, sentence, timestamp } from './common.ts';
import { bump, locked, recipeSource } from './recipe.ts';

export const newChannel = z
  .strictObject({
    name,
    forTesting: z.boolean().default(false).describe('Takes candidates too.'),
    public: z.boolean().default(false).describe('Restricted versions never reach it.'),
    after: name
      .optional()
      .describe('The channel that it stands behind in the order; the last when left out.'),
  })
  .meta({ id: 'NewChannel' });

export const deleteChannelQuery = z.strictObject({
  why: sentence,
  expect: name
    .optional()
    .describe('Refuse unless the channel points at this version; `none` if it must be empty.'),
});

export const overrideRequest = z
  .strictObject({
    ...promoteRequest.shape,
    override: z.strictObject({
      gates: z.array(z.enum(gateNames)).min(1),
      reason: sentence.describe('Stays visible for ever.'),
    }),
  })
  .meta({ id: 'OverrideRequest' });

export const approvalRequest = z
  .strictObject({
    channel: name,
    approve: z.boolean().default(true).describe('false takes an approval back, and stands against the move.'),
    why: sentence.optional(),
  })
  .meta({ id: 'ApprovalRequest' });

const count = z.int().min(0);

/** What the client read from a report: reports can be larger than a request may be. */
export const scanRequest = z
  .strictObject({
    format: z.enum(reportFormats),
    tool: z.string().min(1).max(200),
    toolVersion: z.string().max(200).optional(),
    counts: z.strictObject({ critical: count, high: count, medium: count, low: count, unknown: count }),
    dismissed: count.describe('Findings that VEX or a suppression takes out.'),
    findings: z
      .array(
        z.strictObject({
          id: z.string().max(300),
          level: z.enum(['low', 'medium', 'high', 'critical']).optional(),
          where: z.string().max(500).optional(),
        }),
      )
      .max(500)
      .describe('The worst of them.'),
    subjects: z
      .array(z.string().max(200))
      .max(20)
      .describe('The sha256 of what was scanned, where it is told.'),
    reportDigest: digest.describe('Of the report itself.'),
  })
  .meta({ id: 'ScanRequest' });

export const moveAttestation = z
  .object({
    move: z.int(),
    digest,
    predicateType: z.string(),
    envelope: z.string().describe('A DSSE envelope with an in-toto statement.'),
    at: timestamp,
    problem: z.string().optional().describe('Why its signature does not count any more.'),
    earlier: listOf(z.object({ envelope: z.string(), at: timestamp })).describe(
      'Statements of the same move that it stands in place of, newest first.',
    ),
  })
  .meta({ id: 'MoveAttestation', description: 'The signed statement of a channel move.' });

export const movePath = z.strictObject({ move: z.coerce.number<string>().int().min(1) });

export const releaseRequest = z
  .strictObject({
    ...recipeSource,
    bump,
    newest: z.boolean().optional().describe('Take the newest of every input, whatever was locked before.'),
    locked,
    whenNewer: z
      .boolean()
      .optional()
      .describe('Only when an input has a newer version than anything that was built.'),
    channels: z
      .array(name)
      .min(1)
      .max(20)
      .optional()
      .describe("Where it goes, in order; the image's own order when left out."),
    why: sentence,
    waitSeconds: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .default(3 * 86_400)
      .describe('How long it waits before closed gates that time or people can open.'),
  })
  .meta({ id: 'ReleaseRequest' });

export const scheduledRelease = z
  .strictObject({
    ...releaseRequest.shape,
    name: name.describe('Of the schedule.'),
    cron: name.describe('Five or six fields.'),
    timeZone: name.optional().describe('An IANA time zone. Defaults to UTC.'),
  })
  .meta({ id: 'ScheduledReleaseRequest' });
