// Operations that start on a schedule. A schedule is kept until it is deleted, across restarts of the daemon.
import type { Schedule, ScheduleRecord } from '../../domain/schedule/record.ts';
import type { Page, PageQuery } from '../page.ts';

export type { Schedule, ScheduleRecord } from '../../domain/schedule/record.ts';

export interface Schedules {
  /** By name. */
  list(query: PageQuery): Promise<Page<ScheduleRecord>>;
  get(name: string): Promise<ScheduleRecord | undefined>;
  /** What `create` would be refused with: a pattern or zone that cannot be read, a name that is taken. */
  check(schedule: Schedule): Promise<void>;
  /** The same again changes nothing, except that a stopped one starts again; other content under a name that is taken is `schedule-exists`. */
  create(schedule: Schedule): Promise<ScheduleRecord>;
  /** Stops the owner's schedules that the owner's tokens no longer allow. */
  review(owner: string): Promise<void>;
  /** `false` when there is none of that name. */
  delete(name: string): Promise<boolean>;
}
