// Requests for schedules.
import { scheduleFields } from '../../domain/schedule/record.ts';
import { name, request } from '../../domain/value/fields.ts';

export const createScheduleRequest = request('CreateScheduleRequest', {
  ...scheduleFields,
  timeZone: name.optional().describe('IANA time zone. Defaults to UTC.'),
});
