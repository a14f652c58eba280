// How versions leave: withdrawal, retention, support, and the limits that make it necessary.
import type { ChannelMove } from '../../domain/channel/channel.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import type { VersionState } from '../../domain/image/version-state.ts';
import type { LimitSample } from '../../domain/limits/limits.ts';
import type { Hold } from '../../domain/retention/record.ts';
import type { Keeper, RetentionEntry, RetentionPolicy } from '../../domain/retention/retention.ts';
import type { SetSupportDate } from '../../domain/support/record.ts';
import type { SupportDate } from '../../domain/support/support.ts';
import type { ChannelFallback, Withdrawal } from '../../domain/withdrawal/withdrawal.ts';
import type { Page, PageQuery } from '../page.ts';
import type { Lineage, VersionName } from './lineage.ts';

export type { Hold } from '../../domain/retention/record.ts';
export type { SetSupportDate } from '../../domain/support/record.ts';

export interface WithdrawRequest extends VersionName {
  readonly reason: string;
  readonly withDescendants: boolean;
  /** ISO time from which on it is out; a time that has passed is now. Absent: now. */
  readonly at?: string;
  readonly by: string;
  readonly operation: string;
}

export interface WithdrawalOutcome {
  readonly withdrawal: Withdrawal;
  /** What is out by it: the version first. Empty while it is only planned. */
  readonly versions: readonly (VersionName & { readonly digest: string })[];
  /** Where channels went. */
  readonly moves: readonly ChannelMove[];
}

export interface WithdrawalPlan {
  readonly versions: readonly (VersionName & { readonly state: VersionState })[];
  readonly fallbacks: readonly ChannelFallback[];
}

export interface RestoreOutcome {
  readonly version: VersionRecord;
  /** All versions that are usable again: it, and what had inherited its withdrawal. */
  readonly restored: readonly VersionName[];
  /** Channels that were taken off it and stayed where they went. */
  readonly left: readonly { readonly image: string; readonly channel: string; readonly now: string | null }[];
}

export interface Withdrawals {
  /** What `withdraw` would do now. Throws what it would be refused with; writes nothing. */
  plan(request: Pick<WithdrawRequest, 'image' | 'version' | 'withDescendants'>): Promise<WithdrawalPlan>;
  /**
   * Withdraws the version, with its descendants if requested, and moves every channel off them, in one transaction.
   * A channel without an earlier good version becomes empty. With a time in the future, it is only recorded. The same
   * operation again returns what the first call did.
   */
  withdraw(request: WithdrawRequest): Promise<WithdrawalOutcome>;
  /** Those whose time has come, and active ones that something was made from since; the earliest first. */
  due(): Promise<readonly Withdrawal[]>;
  /**
   * Carries out one that is recorded, and passes it on to what was made from the version since; a second call
   * finds nothing left to do. `undefined` if it was lifted or never requested.
   */
  apply(id: number): Promise<WithdrawalOutcome | undefined>;
  /**
   * Lifts what was asked for this version, also what is only planned. It is then what it was before, unless an
   * ancestor keeps it out. Channels stay where they are. `withdrawal-inherited` or `version-state` when there is
   * nothing to lift; the same operation again answers as the first.
   */
  restore(
    version: VersionName,
    change: { readonly by: string; readonly why: string; readonly operation: string },
  ): Promise<RestoreOutcome>;
  get(id: number): Promise<Withdrawal | undefined>;
  /** All that concern a version, oldest first. */
  of(version: VersionName): Promise<readonly Withdrawal[]>;
  /** Those asked for, of one image or all, newest first, with how many live nodes are still on what they took out. */
  list(
    image: string | undefined,
    query: PageQuery,
  ): Promise<Page<Withdrawal & { readonly versions: number; readonly nodes: number }>>;
}

export interface Retention {
  /**
   * Every version with what keeps it, of one image or of all, by image and age, oldest first. They come in parts, as
   * they are read, so that a large catalog is never completely in memory. Writes nothing.
   */
  plan(image: string | undefined, policy: RetentionPolicy): AsyncGenerator<readonly RetentionEntry[], void>;
  /** The digests of all versions that are not deleted, save for those of an image. */
  digests(exceptImage?: string): Promise<ReadonlySet<string>>;
  /** Those of these disks that a version which is not deleted has. */
  disksInUse(disks: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Takes a version that nothing keeps out of use, so that nothing begins to use it while its bytes are deleted.
   * Looks again first: what keeps it by now is the answer, and then nothing was changed.
   */
  condemn(
    version: VersionName,
    policy: RetentionPolicy,
    change: { readonly by: string; readonly operation: string },
  ): Promise<readonly Keeper[]>;
  /** Takes `condemn` of this operation back. A second call changes nothing, and what was deleted stays deleted. */
  reprieve(
    version: VersionName,
    change: { readonly by: string; readonly why: string; readonly operation: string },
  ): Promise<void>;
  /** What keeps a condemned version now, other than age and number: something was quicker than `condemn`. */
  usedBy(version: VersionName): Promise<readonly Keeper[]>;
  /** Records that it is gone. `version-needed` when something uses it. A second call changes nothing. */
  finish(version: VersionName, by: string): Promise<void>;

  /** Keeps the version from being deleted, whatever the rules say. Again with another reason: that one counts. */
  hold(version: VersionName, reason: string, by: string): Promise<Hold>;
  /** `false` when it was not held. */
  release(version: VersionName, by: string): Promise<boolean>;
  getHold(version: VersionName): Promise<Hold | undefined>;
}

/** A date, and whether it was set: those of the calendar do not concern what was made after them. */
export interface CountedDate extends SupportDate {
  readonly chosen: boolean;
}

export interface SupportDates {
  /** What people set, by product and line. */
  list(): Promise<readonly SetSupportDate[]>;
  /** Again with another day: that one counts. */
  set(date: Omit<SetSupportDate, 'at'>): Promise<SetSupportDate>;
  /** `false` when there is none. */
  unset(product: string, line: string, by: string): Promise<boolean>;
  /** Available and deprecated versions that one of the dates concerns and that something uses. */
  used(dates: readonly SupportDate[]): Promise<readonly VersionRecord[]>;
  /**
   * At most `limit` that these dates, all past, make deprecated (available ones) or withdrawn: deprecated ones that
   * nothing keeps by the rules of retention, of which being the newest is not one. What a channel or a pool could go
   * back to, what is held and what something was made from stays.
   */
  ended(dates: readonly CountedDate[], limit: number): Promise<readonly VersionRecord[]>;
  /** At most `limit` deprecated ones that none of these dates, all past, concerns now and whose tests still pass. */
  regained(dates: readonly CountedDate[], limit: number): Promise<readonly VersionRecord[]>;
  /** Adds the event unless the same notice was sent before. Returns `true` if it is sent now. */
  tellOnce(notice: Notice, data: Readonly<Record<string, string | number>>): Promise<boolean>;
  /** Forgets the notices about the subject, so that they are sent again if they recur. Without any: nothing to do. */
  forgetTold(kind: string, subject: string): Promise<void>;
  /** Those that were not sent before. */
  untold<T extends Notice>(notices: readonly T[]): Promise<readonly T[]>;
}

/** A notice that is sent once. */
export interface Notice {
  readonly kind: string;
  readonly subject: string;
  readonly mark: string;
}

export interface LimitSamples {
  /** One a day and limit: the last of the day counts. */
  record(place: string, name: string, day: string, used: number, limit: number): Promise<void>;
  list(place: string, since: string): Promise<readonly (LimitSample & { readonly name: string })[]>;
  /** How many versions were added until the end of each of the last days: the past of a gallery without samples. */
  versionsByDay(days: number): Promise<readonly LimitSample[]>;
}

/** What the local store holds of versions, for those who free it. */
export interface ImageSpace {
  /** The versions whose disks it holds. */
  digests(): Promise<ReadonlySet<string>>;
  /** Bytes that would be free if `going` went and `keep` stayed. Shared parts are counted right. */
  reclaimable(keep: ReadonlySet<string>, going: ReadonlySet<string>): Promise<number>;
  /** Frees what only versions beyond `keep` had, and says how many bytes it were. A second call frees what is left. */
  reclaim(keep: ReadonlySet<string>): Promise<number>;
}

/** What builds keep on this machine to be fast again: downloads, layers, tools. */
export interface BuildCache {
  /** What it takes up, and how much it may; `undefined` when there is none. Writes nothing. */
  use(): Promise<CacheUse | undefined>;
  /**
   * Brings it within its limit, deletes what killed builds left, and returns how many bytes were freed. What a running
   * build may be using stays. A second call right after removes nothing.
   */
  trim(): Promise<number>;
}

export interface CacheUse {
  readonly folder: string;
  readonly bytes: number;
  readonly limitBytes: number;
}

export interface Lifecycle {
  readonly lineage: Lineage;
  readonly withdrawals: Withdrawals;
  readonly retention: Retention;
  readonly support: SupportDates;
  readonly samples: LimitSamples;
}
