// The operations that take versions out of use, and back.
import * as z from 'zod';
import { declareOperation } from '../operation/declaration.ts';
import { request, sentence } from '../value/fields.ts';
import { parseTime } from '../value/time.ts';
import { checkReason } from './withdrawal.ts';

const subject = ({ image }: { readonly image: string }) => `image/${image}`;

const withdrawFields = {
  reason: sentence.describe('Recorded permanently.'),
  descendants: z.boolean().default(false).describe('Also withdraw every version derived from it.'),
  at: z.string().min(1).max(40).optional().describe('Time of the withdrawal. Defaults to now.'),
  replace: z.boolean().default(false).describe('Replace all affected nodes, one at a time.'),
};

export const withdraw = declareOperation({
  kind: 'withdraw',
  role: 'publisher',
  subject,
  /** It waits for no other work: the database allows one write to an image at a time, and pools have their own keys. */
  key: (_input, id) => `withdraw/${id}`,
  input: z
    .object({
      ...{ image: z.string(), version: z.string(), ...withdrawFields },
      /** The withdrawal that was planned and is due now. */
      withdrawal: z.int().optional(),
    })
    .transform((input) => {
      checkReason(`${input.image}:${input.version}`, input.reason);
      if (input.at !== undefined) parseTime(input.at);
      return input;
    }),
  routes: {
    withdrawVersion: {
      address: 'POST /v1/images/{image}/versions/{version}/withdraw',
      tag: 'Images',
      summary: 'Withdraw a broken version and roll back the channels that point to it',
      body: request('WithdrawRequest', withdrawFields),
    },
  },
});

export const restoreVersion = declareOperation({
  kind: 'restore-version',
  role: 'publisher',
  subject,
  key: (_input, id) => `restore/${id}`,
  input: z.object({ image: z.string(), version: z.string(), why: sentence }).transform((input) => {
    checkReason(`${input.image}:${input.version}`, input.why);
    return input;
  }),
  routes: {
    restoreVersion: {
      address: 'POST /v1/images/{image}/versions/{version}/restore',
      tag: 'Images',
      summary: 'Cancel a withdrawal, including a scheduled one; channels do not move',
      body: request('RestoreVersionRequest', { why: sentence }),
    },
  },
});
