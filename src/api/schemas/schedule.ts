// Operations that start by the clock.
import * as z from 'zod';
import { json, name, timestamp } from './common.ts';

const fields = {
  name,
  cron: name.describe('Five or six fields.'),
  kind: name.describe('The kind of operation.'),
  subject: name.describe('What the operation is about, e.g. `pool/web`.'),
  input: json.describe('As the operation takes it.'),
};

export const schedule = z
  .object({
    ...fields,
    timeZone: z.string(),
    by: z.string().describe('Who the operations are started for.'),
    osUser: z.string().optional().describe('The OS user behind it, if it is known.'),
    createdAt: timestamp,
    nextAt: timestamp.optional(),
    lastFiredAt: timestamp.optional(),
    lastOperation: z.string().optional(),
    stoppedAt: timestamp.optional().describe("When it stopped because its owner's rights had ended."),
    stoppedWhy: z.string().optional(),
  })
  .meta({ id: 'Schedule' });

export const createScheduleRequest = z
  .strictObject({ ...fields, timeZone: name.optional().describe('An IANA time zone. Defaults to UTC.') })
  .meta({ id: 'CreateScheduleRequest' });
