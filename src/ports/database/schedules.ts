// Operations that start by the clock. A schedule is kept until it is deleted, across restarts of the daemon.
import type { Requester } from '../../domain/access/roles.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Page, PageQuery } from '../page.ts';

export interface Schedule extends Requester {
  readonly name: string;
  /** Five or six fields. */
  readonly cron: string;
  /** An IANA time zone, e.g. `Europe/Paris`. */
  readonly timeZone: string;
  /** What is submitted at each time, in the name of `by`. */
  readonly kind: string;
  readonly subject: string;
  readonly input: Json;
}

export interface ScheduleRecord extends Schedule {
  readonly createdAt: string;
  /** The next time; absent while no daemon is active, or when the pattern has no time left. */
  readonly nextAt?: string;
  readonly lastFiredAt?: string;
  /** The operation that the last time started. */
  readonly lastOperation?: string;
  /** When it stopped because its owner's rights had ended, and what was missing. */
  readonly stoppedAt?: string;
  readonly stoppedWhy?: string;
}

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
