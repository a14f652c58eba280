// Schedules.
import * as z from 'zod';
import { json, name, record, request, timestamp } from '../../domain/value/fields.ts';

const fields = {
  name,
  cron: name.describe('Cron expression, 5 or 6 fields.'),
  kind: name.describe('Kind of operation.'),
  subject: name.describe('Subject of the operation, for example `pool/web`.'),
  input: json.describe('Input of the operation.'),
};

export const schedule = record('Schedule', 'An operation that starts on a schedule.', {
  ...fields,
  timeZone: z.string(),
  by: z.string().describe('User that the operations are started for.'),
  osUser: z.string().optional().describe('OS user, if known.'),
  createdAt: timestamp,
  nextAt: timestamp.optional(),
  lastFiredAt: timestamp.optional(),
  lastOperation: z.string().optional(),
  stoppedAt: timestamp.optional().describe("Time at which it stopped because its owner's rights ended."),
  stoppedWhy: z.string().optional(),
});

export const createScheduleRequest = request('CreateScheduleRequest', {
  ...fields,
  timeZone: name.optional().describe('IANA time zone. Defaults to UTC.'),
});
