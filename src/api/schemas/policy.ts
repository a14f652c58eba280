// The policy file, and the results of gates. The JSON Schema of the file derives from its schema.
import * as z from 'zod';
import { roles } from '../../domain/access/roles.ts';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { findingLevels } from '../../domain/evidence/finding.ts';
import { isTimeZone, weekdays } from '../../domain/policy/freeze.ts';
import type { ChannelPolicy, Policy } from '../../domain/policy/policy.ts';
import { parseBytes } from '../../domain/value/bytes.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import { digest, listOf, name, record, request, sentence, timestamp } from '../../domain/value/fields.ts';

function parsed<T>(parse: (text: string) => T) {
  return (text: string, context: z.RefinementCtx<string>): T => {
    try {
      return parse(text);
    } catch (error) {
      const { message, hint } = ensureImagoError(error);
      context.addIssue({ code: 'custom', message, params: { hint } });
      return z.NEVER;
    }
  };
}

const duration = z.string().describe('For example `90s`, `12h`, or `7d`.').transform(parsed(parseDuration));
const size = z.string().describe('For example `512MiB` or `8GiB`.').transform(parsed(parseBytes));
const growth = z
  .string()
  .refine((text) => /^[0-9]+(?:\.[0-9]+)? ?%$/.test(text), { error: 'is not a percentage', abort: true })
  .describe('For example `10%`.')
  .transform((text) => Number(text.replace('%', '').trim()) / 100);
const clockTime = z
  .string()
  .refine((text) => /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/.test(text), 'is not a time of day')
  .describe('HH:MM in the time zone.');
const day = z
  .string()
  .refine(
    (text) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9])?$/.test(text),
    'is not a day',
  )
  .describe('2026-12-20 or 2026-12-20T16:00, in the time zone.');
const level = z.enum(findingLevels);

const frozen = {
  timeZone: z
    .string()
    .refine(isTimeZone, 'is not a time zone')
    .describe('IANA time zone, for example `Europe/Paris`. Defaults to UTC.')
    .default('UTC'),
  why: sentence.describe('Shown to users whose promotion is blocked.'),
};

const freezeWindow = z
  .union([
    z.strictObject({ days: z.array(z.enum(weekdays)).min(1), from: clockTime, to: clockTime, ...frozen }),
    z.strictObject({ from: day, to: day, ...frozen }),
  ])
  .describe('Weekly on `days`, or once without `days`. Ends just before `to`.')
  .transform((window, context) => {
    if ('days' in window) return { kind: 'weekly' as const, ...window };
    if (window.from >= window.to) {
      context.addIssue({ code: 'custom', message: 'ends before it starts' });
      return z.NEVER;
    }
    return { kind: 'dated' as const, ...window };
  });

const channelPolicy = z
  .strictObject({
    age: z
      .strictObject({
        in: name.optional().describe('Earlier channel. Defaults to the previous one.'),
        atLeast: duration,
      })
      .transform(({ in: channel, atLeast }) => ({
        ...(channel === undefined ? {} : { in: channel }),
        atLeastMs: atLeast,
      }))
      .optional()
      .describe('Minimum time in an earlier channel.'),
    signed: z
      .strictObject({
        by: z
          .array(z.string().min(1))
          .min(1)
          .optional()
          .describe(
            'Key ids or owners of trusted keys that must all have signed. Defaults to any trusted key.',
          ),
      })
      .optional()
      .describe('Signatures for this image by keys that are currently valid.'),
    scan: z
      .strictObject({
        noneAbove: z.enum([...findingLevels, 'none']).describe('Highest allowed level of a finding.'),
        maxAge: duration.optional().describe('Maximum age of the report.'),
        tool: z.string().min(1).optional().describe('Accept only reports of this tool.'),
        unknownAs: level.optional().describe('Level of findings without one. Defaults to high.'),
      })
      .transform(({ maxAge, ...rest }) => ({
        ...rest,
        ...(maxAge === undefined ? {} : { maxAgeMs: maxAge }),
      }))
      .optional()
      .describe('Findings in the latest report of each tool. Blocks if no report is attached.'),
    budgets: z
      .strictObject({
        growth: growth.describe('Maximum growth of a measurement since the previous version.'),
        measures: z.array(z.string().min(1)).min(1).optional(),
      })
      .optional()
      .describe('Test measurements, compared to the current version of the channel.'),
    size: z
      .strictObject({ atMost: size.optional(), growth: growth.optional() })
      .refine(
        (gate) => gate.atMost !== undefined || gate.growth !== undefined,
        'requires `atMost` or `growth`',
      )
      .transform(({ atMost, growth: most }) => ({
        ...(atMost === undefined ? {} : { atMostBytes: atMost }),
        ...(most === undefined ? {} : { growth: most }),
      }))
      .optional()
      .describe('Disk size.'),
    approvals: z
      .strictObject({
        count: z.int().min(1).max(20),
        role: z.enum(roles).default('publisher').describe('Minimum role of an approver.'),
        requester: z.boolean().optional().describe('Whether the requester can be an approver.'),
      })
      .optional()
      .describe('Approvals by distinct users, for this digest and channel.'),
    freeze: z.array(freezeWindow).optional().describe('Periods without promotions.'),
    nodeConfig: z
      .literal(true)
      .optional()
      .describe('The version must accept the node configs of pools that follow the channel.'),
  })
  .describe('Gates of a channel. Omitted gates are not checked; tests always are.');

const channelPolicies = z.record(z.string(), channelPolicy);

const retention = z
  .strictObject({
    keepCount: z
      .int()
      .min(0)
      .max(100_000)
      .optional()
      .describe('Number of newest versions of each image to keep.'),
    keepDays: z.int().min(0).max(36_500).optional().describe('Days for which versions are kept.'),
  })
  .describe('What pruning keeps in addition to versions in use, unless the request overrides it.');

export const policyFile = z
  .strictObject({
    version: z.literal(1),
    channels: channelPolicies.default({}).describe('Gates by channel, for every image.'),
    retention: retention.optional(),
    images: z
      .record(
        z.string(),
        z.strictObject({ channels: channelPolicies.default({}), retention: retention.optional() }),
      )
      .optional()
      .describe('Overrides by image. A channel or retention here replaces the general one completely.'),
  })
  .describe('The gates of each channel, and the retention of old versions.');

/** Converts a policy file: omitted fields are absent, not undefined. */
export function toPolicy(file: z.output<typeof policyFile>): Policy {
  return JSON.parse(JSON.stringify(file)) as Policy & { readonly channels: Record<string, ChannelPolicy> };
}

export function policyJsonSchema(): object {
  return {
    title: 'Imago promotion policy',
    ...z.toJSONSchema(policyFile, { io: 'input', unrepresentable: 'any' }),
  };
}

export const gate = record('Gate', 'The result of one gate.', {
  gate: z.string(),
  passed: z.boolean(),
  needs: z.string().describe('What the gate requires.'),
  value: z.string().describe('What the gate found.'),
  evidence: listOf(z.int()).optional().describe('Evidence that the decision is based on.'),
  opensAt: timestamp.optional().describe('Time at which the gate passes on its own.'),
  waitsForPeople: z.literal(true).optional(),
  overridden: z.literal(true).optional(),
});

export const policyResult = record('PolicyResult', 'The results of all gates.', {
  passed: z.boolean(),
  gates: listOf(gate),
  policy: z.object({ id: z.int(), digest: z.string() }).optional(),
  override: z.object({ gates: listOf(z.string()), reason: z.string(), by: z.string() }).optional(),
  composed: z.string().optional().describe('The environment that was tested.'),
  evidenceSeen: z.int(),
  at: timestamp,
});

export const policyRecord = record('Policy', 'A policy that was activated.', {
  id: z.int(),
  digest: z.string(),
  text: z.string(),
  by: z.string(),
  why: z.string(),
  at: timestamp,
});

export const policyText = request('PolicyText', {
  text: z
    .string()
    .max(256 * 1024)
    .describe('YAML text.'),
  fileName: z.string().max(300).optional().describe('File name in messages.'),
});

export const policyRequest = request('PolicyRequest', {
  ...policyText.shape,
  why: sentence,
  accept: z
    .boolean()
    .optional()
    .describe('Activate it even if a channel that is not for testing loses gates.'),
});

export const policyCheck = record('PolicyCheck', 'The gates of a valid policy file.', {
  digest: z.string(),
  gates: z.array(z.object({ image: z.string().optional(), channel: z.string(), gates: z.array(z.string()) })),
});

export const gatesQuery = z.strictObject({ reference: name.describe('Version.'), channel: name });

export const composed = record('ComposedVersion', 'Environment that was tested.', {
  id: digest,
  imago: z.string(),
  image: z.string(),
  version: z.string(),
  digest,
  recipeDigest: z.string().optional(),
  lockDigest: z.string().optional(),
  agent: z.string().optional(),
  nodeConfig: z.object({ schemaVersion: z.int(), digest: z.string() }).optional(),
  kubernetes: z.string().optional(),
  at: timestamp,
});
