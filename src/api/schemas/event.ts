// The event stream: each server-sent event carries one of these as data, and its id as the event's id.
import * as z from 'zod';
import { json, name, timestamp } from './common.ts';

export const event = z
  .object({
    id: z.int(),
    at: timestamp,
    type: z.string().describe('`operation.state`, `operation.step`, `channel.moved`, …'),
    subject: z.string().describe('`operation/ID`, `image/NAME`, `pool/NAME`.'),
    data: json,
  })
  .meta({ id: 'Event', description: 'Something that happened.' });

export const eventsQuery = z.strictObject({
  subject: name.optional().describe('Only events of this subject.'),
  after: z
    .string()
    .optional()
    .describe(
      'Begin after this event (0: with the oldest kept). `Last-Event-ID` has precedence. Defaults to now.',
    ),
});
