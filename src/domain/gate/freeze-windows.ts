// Times in which nothing is promoted: between two dates, or every week. They are meant in the time zone of the
// people who keep them, so they are compared with what a clock on their wall shows, also when it is set.

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

interface Frozen {
  /** An IANA name, e.g. `Europe/Paris`. */
  readonly timeZone: string;
  readonly why: string;
}

/** From the first moment to just before the last: `2026-12-20` or `2026-12-20T16:00`, on the wall's clock. */
export interface DatedFreeze extends Frozen {
  readonly kind: 'dated';
  readonly from: string;
  readonly to: string;
}

/** Each of the days from `from` to just before `to`, both `HH:MM`; past midnight when `to` is not after `from`. */
export interface WeeklyFreeze extends Frozen {
  readonly kind: 'weekly';
  readonly days: readonly Weekday[];
  readonly from: string;
  readonly to: string;
}

export type FreezeWindow = DatedFreeze | WeeklyFreeze;

/** The first of the windows that is closed at that time. */
export function frozenBy(windows: readonly FreezeWindow[], time: number): FreezeWindow | undefined {
  return windows.find((window) => isFrozen(window, time));
}

const minuteMs = 60_000;
const strideMs = 15 * minuteMs;
const horizonMs = 400 * 86_400_000;

/** When nothing is frozen any more: the time itself when nothing is; `undefined` when that is over a year away. */
export function opensAt(windows: readonly FreezeWindow[], time: number): number | undefined {
  if (frozenBy(windows, time) === undefined) return time;
  const first = Math.ceil((time + 1) / minuteMs) * minuteMs;
  for (let stride = first; stride <= time + horizonMs; stride += strideMs) {
    if (frozenBy(windows, stride) !== undefined) continue;
    const earliest = Math.max(first, stride - strideMs + minuteMs);
    for (let minute = earliest; minute < stride; minute += minuteMs) {
      if (frozenBy(windows, minute) === undefined) return minute;
    }
    return stride;
  }
  return undefined;
}

export function isTimeZone(name: string): boolean {
  try {
    wallClock(name);
    return true;
  } catch {
    return false;
  }
}

/** Whether a window between two dates has passed for good. */
export function isOver(window: FreezeWindow, time: number): boolean {
  if (window.kind === 'weekly') return false;
  const { date, clock } = onTheWall(window.timeZone, time);
  return `${date}T${clock}` >= startOf(window.to);
}

function isFrozen(window: FreezeWindow, time: number): boolean {
  const { date, clock, day } = onTheWall(window.timeZone, time);
  if (window.kind === 'dated') {
    const now = `${date}T${clock}`;
    return now >= startOf(window.from) && now < startOf(window.to);
  }
  const { days, from, to } = window;
  const today = days.includes(day);
  if (from < to) return today && clock >= from && clock < to;
  const yesterday = weekdays[(weekdays.indexOf(day) + 6) % 7];
  return (today && clock >= from) || (yesterday !== undefined && days.includes(yesterday) && clock < to);
}

function startOf(text: string): string {
  return text.includes('T') ? text : `${text}T00:00`;
}

interface Wall {
  readonly date: string;
  readonly clock: string;
  readonly day: Weekday;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function wallClock(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', weekday: 'short' },
  });
  clocks.set(timeZone, made);
  return made;
}

function onTheWall(timeZone: string, time: number): Wall {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of wallClock(timeZone).formatToParts(time)) parts[type] = value;
  const name = (parts.weekday ?? '').slice(0, 3).toLowerCase();
  return {
    date: `${(parts.year ?? '').padStart(4, '0')}-${parts.month}-${parts.day}`,
    clock: `${parts.hour}:${parts.minute}`,
    day: weekdays.find((day) => day === name) ?? 'mon',
  };
}
