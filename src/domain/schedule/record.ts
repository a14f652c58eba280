// Operations that start on a schedule, as they are recorded.
import * as z from 'zod';
import { json, name, record, timestamp } from '../value/fields.ts';

/** What is started at each time, in the name of `by`. */
export const scheduleFields = {
  name,
  cron: name.describe('Cron expression, 5 or 6 fields.'),
  kind: name.describe('Kind of operation.'),
  subject: name.describe('Subject of the operation, for example `pool/web`.'),
  input: json.describe('Input of the operation.'),
};

export const schedule = record('Schedule', 'An operation that starts on a schedule.', {
  ...scheduleFields,
  timeZone: z.string().describe('IANA time zone, for example `Europe/Paris`.'),
  by: z.string().describe('User that the operations are started for.'),
  osUser: z.string().optional().describe('OS user, if known.'),
  createdAt: timestamp,
  nextAt: timestamp
    .optional()
    .describe('Absent while no daemon is active, or if the expression has no time left.'),
  lastFiredAt: timestamp.optional(),
  lastOperation: z.string().optional().describe('Operation that was started last.'),
  stoppedAt: timestamp.optional().describe("Time at which it stopped because its owner's rights ended."),
  stoppedWhy: z.string().optional(),
});
export type ScheduleRecord = z.output<typeof schedule>;

export type Schedule = Pick<ScheduleRecord, keyof typeof scheduleFields | 'timeZone' | 'by' | 'osUser'>;
