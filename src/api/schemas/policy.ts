// The policy file as people write it, and what gates say. The file's schema also makes its JSON Schema.
import * as z from 'zod';
import { roles } from '../../domain/access/roles.ts';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { findingLevels } from '../../domain/evidence/finding.ts';
import { isTimeZone, weekdays } from '../../domain/policy/freeze.ts';
import type { ChannelPolicy, Policy } from '../../domain/policy/policy.ts';
import { parseBytes } from '../../domain/value/bytes.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import { digest, listOf, name, sentence, timestamp } from './common.ts';

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

const duration = z.string().describe('Like `90s`, `12h` or `7d`.').transform(parsed(parseDuration));
const size = z.string().describe('Like `512MiB` or `8GiB`.').transform(parsed(parseBytes));
const growth = z
  .string()
  .refine((text) => /^[0-9]+(?:\.[0-9]+)? ?%$/.test(text), { error: 'is not a part in percent', abort: true })
  .describe('Like `10%`.')
  .transform((text) => Number(text.replace('%', '').trim()) / 100);
const clockTime = z
  .string()
  .refine((text) => /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/.test(text), 'is not a time of day')
  .describe('HH:MM on the clock of the time zone.');
const day = z
  .string()
  .refine(
    (text) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9])?$/.test(text),
    'is not a day',
  )
  .describe('2026-12-20 or 2026-12-20T16:00, on the clock of the time zone.');
const level = z.enum(findingLevels);

const frozen = {
  timeZone: z
    .string()
    .refine(isTimeZone, 'is not a time zone')
    .describe('An IANA name, e.g. `Europe/Paris`. UTC when left out.')
    .default('UTC'),
  why: sentence.describe('Shown to those who are stopped by it.'),
};

const freezeWindow = z
  .union([
    z.strictObject({ days: z.array(z.enum(weekdays)).min(1), from: clockTime, to: clockTime, ...frozen }),
    z.strictObject({ from: day, to: day, ...frozen }),
  ])
  .describe('Every week on the days that are named, else once. It ends just before `to`.')
  .transform((window, context) => {
    if ('days' in window) return { kind: 'weekly' as const, ...window };
    if (window.from >= window.to) {
      context.addIssue({ code: 'custom', message: 'ends before it begins' });
      return z.NEVER;
    }
    return { kind: 'dated' as const, ...window };
  });

const channelPolicy = z
  .strictObject({
    age: z
      .strictObject({
        in: name.optional().describe('The earlier channel; the one before in the order when left out.'),
        atLeast: duration,
      })
      .transform(({ in: channel, atLeast }) => ({
        ...(channel === undefined ? {} : { in: channel }),
        atLeastMs: atLeast,
      }))
      .optional()
      .describe('How long the version must have been in an earlier channel.'),
    signed: z
      .strictObject({
        by: z
          .array(z.string().min(1))
          .min(1)
          .optional()
          .describe(
            'Key ids, or owners of trusted keys, that must all have signed. Any trusted key by default.',
          ),
      })
      .optional()
      .describe('Signatures for this image by keys that are valid now.'),
    scan: z
      .strictObject({
        noneAbove: z.enum([...findingLevels, 'none']).describe('The highest level that a finding may have.'),
        maxAge: duration.optional().describe('How old the report may be.'),
        tool: z.string().min(1).optional().describe('Only reports of this tool count.'),
        unknownAs: level.optional().describe('What a finding without a level counts as; high when left out.'),
      })
      .transform(({ maxAge, ...rest }) => ({
        ...rest,
        ...(maxAge === undefined ? {} : { maxAgeMs: maxAge }),
      }))
      .optional()
      .describe('Findings in the newest report of each tool; none attached is not passed.'),
    budgets: z
      .strictObject({
        growth: growth.describe('How much a measure may grow against the version before.'),
        measures: z.array(z.string().min(1)).min(1).optional(),
      })
      .optional()
      .describe('What tests measure, against the version that the channel points at.'),
    size: z
      .strictObject({ atMost: size.optional(), growth: growth.optional() })
      .refine((gate) => gate.atMost !== undefined || gate.growth !== undefined, 'needs `atMost` or `growth`')
      .transform(({ atMost, growth: most }) => ({
        ...(atMost === undefined ? {} : { atMostBytes: atMost }),
        ...(most === undefined ? {} : { growth: most }),
      }))
      .optional()
      .describe('Of the disk.'),
    approvals: z
      .strictObject({
        count: z.int().min(1).max(20),
        role: z.enum(roles).default('publisher').describe('The least role whose word counts.'),
        requester: z.boolean().optional().describe('Whether the one who asks may be among them.'),
      })
      .optional()
      .describe('By distinct people, on this digest and channel.'),
    freeze: z.array(freezeWindow).optional().describe('Times in which nothing is promoted.'),
    nodeConfig: z
      .literal(true)
      .optional()
      .describe('The version must accept the node configs of pools that follow the channel.'),
  })
  .describe('The gates before a channel. What is left out is not asked for; tests always are.');

const channelPolicies = z.record(z.string(), channelPolicy);

const retention = z
  .strictObject({
    keepCount: z.int().min(0).max(100_000).optional().describe('The newest so many of each image stay.'),
    keepDays: z.int().min(0).max(36_500).optional().describe('What is younger than so many days stays.'),
  })
  .describe('What a prune keeps beyond what is needed anyway, unless it is asked otherwise.');

export const policyFile = z
  .strictObject({
    version: z.literal(1),
    channels: channelPolicies.default({}).describe('By channel, for every image.'),
    retention: retention.optional(),
    images: z
      .record(
        z.string(),
        z.strictObject({ channels: channelPolicies.default({}), retention: retention.optional() }),
      )
      .optional()
      .describe('By image: a channel, or the retention, that stands here too is taken from here, whole.'),
  })
  .describe('Which gates stand before which channel, and what is kept of old versions.');

/** As the domain has it: what was left out is absent, not undefined. */
export function toPolicy(file: z.output<typeof policyFile>): Policy {
  return JSON.parse(JSON.stringify(file)) as Policy & { readonly channels: Record<string, ChannelPolicy> };
}

export function policyJsonSchema(): object {
  return {
    title: "Imago's policy of promotion",
    ...z.toJSONSchema(policyFile, { io: 'input', unrepresentable: 'any' }),
  };
}

export const gate = z
  .object({
    gate: z.string(),
    passed: z.boolean(),
    needs: z.string().describe('What is asked for.'),
    value: z.string().describe('What was found.'),
    evidence: listOf(z.int()).optional().describe('What it was decided on.'),
    opensAt: timestamp.optional().describe('When time alone opens it.'),
    waitsForPeople: z.literal(true).optional(),
    overridden: z.literal(true).optional(),
  })
  .meta({ id: 'Gate', description: 'What one gate says, with its value.' });

export const policyResult = z
  .object({
    passed: z.boolean(),
    gates: listOf(gate),
    policy: z.object({ id: z.int(), digest: z.string() }).optional(),
    override: z.object({ gates: listOf(z.string()), reason: z.string(), by: z.string() }).optional(),
    composed: z.string().optional().describe('The unit that was tested.'),
    evidenceSeen: z.int(),
    at: timestamp,
  })
  .meta({ id: 'PolicyResult', description: 'What every gate said.' });

export const policyRecord = z
  .object({
    id: z.int(),
    digest: z.string(),
    text: z.string(),
    by: z.string(),
    why: z.string(),
    at: timestamp,
  })
  .meta({ id: 'Policy', description: 'A policy as it was put in force.' });

export const policyText = z
  .strictObject({
    text: z
      .string()
      .max(256 * 1024)
      .describe('The YAML file.'),
    fileName: z.string().max(300).optional().describe('For messages.'),
  })
  .meta({ id: 'PolicyText' });

export const policyRequest = z
  .strictObject({
    ...policyText.shape,
    why: sentence,
    accept: z
      .boolean()
      .optional()
      .describe('Put it in effect even if a channel that is not for testing loses gates.'),
  })
  .meta({ id: 'PolicyRequest' });

export const policyCheck = z
  .object({
    digest: z.string(),
    gates: z.array(
      z.object({ image: z.string().optional(), channel: z.string(), gates: z.array(z.string()) }),
    ),
  })
  .meta({ id: 'PolicyCheck', description: 'What a policy file says, when it is well formed.' });

export const gatesQuery = z.strictObject({ reference: name.describe('The version.'), channel: name });

export const composed = z
  .object({
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
  })
  .meta({ id: 'ComposedVersion', description: 'The unit that was tested together.' });
