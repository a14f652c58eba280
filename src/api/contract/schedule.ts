// Schedules.
import { schedule } from '../../domain/schedule/record.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import { scheduledRelease } from '../schemas/promotion.ts';
import { createScheduleRequest } from '../schemas/schedule.ts';
import { create, endpoints, read, write } from './endpoint.ts';

export const scheduleContract = endpoints('Schedules', {
  listSchedules: read('GET /v1/schedules', 'List schedules by name', {
    query: pageQuery,
    response: pageOf(schedule),
  }),
  createSchedule: create('POST /v1/schedules', 'Schedule an operation', {
    role: 'operator',
    body: createScheduleRequest,
    response: schedule,
    description: 'Requires the role that starting the operation requires.',
  }),
  deleteSchedule: write('DELETE /v1/schedules/{schedule}', 'Delete a schedule', {
    role: 'operator',
    response: schedule,
    description: 'Requires the role that starting the operation requires.',
  }),
  scheduleRelease: create(
    'POST /v1/releases/schedule',
    'Schedule releases of a recipe; with `newest`, each run starts only if an input is newer',
    { role: 'publisher', body: scheduledRelease, response: schedule },
  ),
});
