// The event stream: the data of each server-sent event is one of these.
import * as z from 'zod';
import { json, name, record, timestamp } from '../../domain/value/fields.ts';

export const event = record('Event', 'An event.', {
  id: z.int(),
  at: timestamp,
  type: z.string().describe('`operation.state`, `operation.step`, `channel.moved`, …'),
  subject: z.string().describe('`operation/ID`, `image/NAME`, `pool/NAME`.'),
  data: json,
});

export const eventsQuery = z.strictObject({
  subject: name.optional().describe('Return only events of this subject.'),
  after: z
    .string()
    .optional()
    .describe(
      'Start after this event (0: with the oldest one). `Last-Event-ID` takes precedence. Defaults to now.',
    ),
});
