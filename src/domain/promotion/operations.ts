// The operations that move channels.
import * as z from 'zod';
import { ImagoError } from '../error/imago-error.ts';
import { firmGates, gateNames } from '../gate/gate.ts';
import { imageOf } from '../image/reference.ts';
import { declareOperation } from '../operation/declaration.ts';
import { name, reason, request } from '../value/fields.ts';

const why = reason.max(2000);

const promoteFields = {
  reference: name.describe('Version to promote, not a bare image name.'),
  channel: name,
  why,
  expect: name
    .nullable()
    .optional()
    .describe(
      'Fail unless the channel points to this version (null: none). Defaults to its current version.',
    ),
  back: z.boolean().default(false).describe('Allow moving to an older version.'),
};

const subject = ({ reference }: { readonly reference: string }) => `image/${imageOf(reference)}`;

export const promote = declareOperation({
  kind: 'promote',
  role: 'publisher',
  subject,
  input: z.object(promoteFields),
  routes: {
    promote: {
      address: 'POST /v1/channels/promote',
      tag: 'Channels',
      summary: 'Promote a version to a channel',
      body: request('PromoteRequest', promoteFields),
    },
  },
});

const overrideFields = {
  ...promoteFields,
  override: z.strictObject({
    gates: z.array(z.enum(gateNames)).min(1),
    reason: why.describe('Recorded permanently.'),
  }),
};

/** A kind of its own, so that only admins can start, schedule or retry it. */
export const promoteOverride = declareOperation({
  kind: 'promote-override',
  role: 'admin',
  subject,
  input: z.object(overrideFields).transform((input) => {
    const firm = input.override.gates.find((gate) => firmGates.has(gate));
    if (firm === undefined) return input;
    throw new ImagoError('override-refused', `The gate \`${firm}\` cannot be overridden.`);
  }),
  routes: {
    overridePromote: {
      address: 'POST /v1/channels/promote-override',
      tag: 'Channels',
      summary: 'Promote a version through blocking gates, with a reason that stays visible',
      description: 'The gates `real`, `tested` and `restricted` cannot be overridden.',
      body: request('OverrideRequest', overrideFields),
    },
  },
});

const rollbackFields = {
  image: name,
  channel: name,
  from: name.describe(
    'Version that the channel leaves. If the channel was already rolled back from it, nothing changes. If it points to another version, the request fails.',
  ),
  why,
};

export const rollbackChannel = declareOperation({
  kind: 'rollback-channel',
  role: 'publisher',
  subject: ({ image }) => `image/${image}`,
  /** Other work on the image does not delay it. */
  key: ({ image, channel }) => `rollback/${image}:${channel}`,
  input: z.object({ ...rollbackFields, from: rollbackFields.from.optional() }),
  routes: {
    rollbackChannel: {
      address: 'POST /v1/channels/rollback',
      tag: 'Channels',
      summary: 'Roll back a channel to its previous version',
      body: request('RollbackChannelRequest', rollbackFields),
    },
  },
});
