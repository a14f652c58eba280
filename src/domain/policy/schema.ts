// The policy: which gates each channel has, and what a prune keeps. The gates that no policy can remove (tested on this
// digest, restricted never public) are not in it. The JSON Schema of the file derives from its schema.
import * as z from 'zod';
import { roles } from '../access/roles.ts';
import { findingLevels } from '../evidence/finding.ts';
import { readNumber } from '../image/version-number.ts';
import { parseBytes } from '../value/bytes.ts';
import { parseDuration } from '../value/duration.ts';
import { name, parsed, record, sentence, timestamp } from '../value/fields.ts';
import { isTimeZone, weekdays } from './freeze.ts';

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

const gates = {
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
  fresh: z
    .strictObject({ security: duration.describe('How long a security update can be missing.') })
    .transform(({ security }) => ({ securityMs: security }))
    .optional()
    .describe('Security updates that the packages lack, by the signed index of their archive.'),
  budgets: z
    .strictObject({
      growth: growth.describe('Maximum growth of a measurement since the previous version.'),
      measures: z.array(z.string().min(1)).min(1).optional(),
    })
    .optional()
    .describe('Test measurements, compared to the current version of the channel.'),
  size: z
    .strictObject({ atMost: size.optional(), growth: growth.optional() })
    .refine((gate) => gate.atMost !== undefined || gate.growth !== undefined, 'requires `atMost` or `growth`')
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
};

const channelPolicy = z
  .strictObject({
    ...gates,
    captured: z
      .strictObject(gates)
      .optional()
      .describe(
        'Gates of prototypes of pools that follow the channel. Defaults to those of the channel without `age`.',
      ),
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

const floors = z
  .array(z.string().refine((text) => readNumber(text) !== undefined, 'is not a version number'))
  .max(100)
  .optional()
  .describe('Versions that a rollout from an older version to a newer one passes through.');

export const policyFile = z
  .strictObject({
    version: z.literal(1),
    channels: channelPolicies.default({}).describe('Gates by channel, for every image.'),
    retention: retention.optional(),
    images: z
      .record(
        z.string(),
        z.strictObject({ channels: channelPolicies.default({}), retention: retention.optional(), floors }),
      )
      .optional()
      .describe('Overrides by image. A channel or retention here replaces the general one completely.'),
  })
  .describe('The gates of each channel, and the retention of old versions.');

/** One document for all images, with exceptions by image. */
export type Policy = z.output<typeof policyFile>;
/** The gates of one channel. */
export type ChannelPolicy = z.output<typeof channelPolicy>;
export type ChannelGates = Omit<ChannelPolicy, 'captured'>;

/** Converts a policy file: omitted fields are absent, not undefined. */
export function toPolicy(file: Policy): Policy {
  return JSON.parse(JSON.stringify(file)) as Policy;
}

export function policyJsonSchema(): object {
  return {
    title: 'Imago promotion policy',
    ...z.toJSONSchema(policyFile, { io: 'input', unrepresentable: 'any' }),
  };
}

export const policyRecord = record('Policy', 'A policy that was activated.', {
  id: z.int(),
  digest: z.string(),
  text: z.string(),
  by: z.string(),
  why: z.string(),
  at: timestamp,
});

export const storedPolicy = policyRecord.extend({ policy: z.unknown() as z.ZodType<Policy, Policy> });
export type PolicyRecord = z.output<typeof storedPolicy>;
