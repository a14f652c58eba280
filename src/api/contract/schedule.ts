// Schedules.
import * as z from 'zod';
import { name, pageOf, pageQuery } from '../schemas/common.ts';
import { createScheduleRequest, schedule } from '../schemas/schedule.ts';
import { endpoint } from './endpoint.ts';

export const schedulesContract = {
  listSchedules: endpoint({
    tag: 'Schedules',
    summary: 'All schedules, by name',
    role: 'viewer',
    effect: 'read',
    query: pageQuery,
    status: 200,
    response: pageOf(schedule),
  }),
  createSchedule: endpoint({
    tag: 'Schedules',
    summary: 'Start an operation by the clock',
    description: 'Needs the role that starting the operation needs.',
    role: 'operator',
    effect: 'write',
    body: createScheduleRequest,
    status: 201,
    response: schedule,
  }),
  deleteSchedule: endpoint({
    tag: 'Schedules',
    summary: 'End a schedule',
    description: 'Needs the role that starting the operation needs.',
    role: 'operator',
    effect: 'write',
    path: z.strictObject({ schedule: name }),
    status: 200,
    response: schedule,
  }),
};
