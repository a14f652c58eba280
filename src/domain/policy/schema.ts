// The policy: which gates each channel has, and what a prune keeps. The gates that no policy can remove (tested on this
// digest, restricted never public) are not in it. The JSON Schema of the file derives from its schema.
import * as z from 'zod';
import { type PolicyGateName, type PolicyGates, policyGates } from '../gate/policy-gates.ts';
import { readNumber } from '../image/version-number.ts';
import { record, timestamp } from '../value/fields.ts';

const gates = Object.fromEntries(
  Object.entries(policyGates).map(([gate, { settings }]) => [gate, settings.optional()]),
) as { readonly [Name in PolicyGateName]: z.ZodOptional<PolicyGates[Name]['settings']> };

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
