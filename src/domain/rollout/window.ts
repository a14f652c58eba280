// Maintenance windows: times of the week in a time zone, in which a rollout starts to move nodes.
import { ImagoError } from '../error/imago-error.ts';
import { quote } from '../value/quote.ts';

export interface Window {
  /** 0 is Sunday. The day on which the window opens. */
  readonly days: readonly number[];
  /** Minutes since midnight. An end that is not after the start is on the next day. */
  readonly from: number;
  readonly to: number;
  readonly timeZone: string;
}

const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const pattern =
  /^(?:([A-Z][a-z]{2})(?:-([A-Z][a-z]{2}))? )?([0-2][0-9]):([0-5][0-9])-([0-2][0-9]):([0-5][0-9])(?: ([A-Za-z0-9_+/-]{1,64}))?$/;

/** Reads `Mon-Fri 22:00-06:00 Europe/Paris`; days default to all, the zone to UTC. Throws `input-invalid`. */
export function parseWindow(text: string): Window {
  const match = pattern.exec(text);
  if (match === null) throw badWindow(text);
  const [, first, last, fromHour, fromMinute, toHour, toMinute, timeZone = 'UTC'] = match;
  const from = Number(fromHour) * 60 + Number(fromMinute);
  const to = Number(toHour) * 60 + Number(toMinute);
  const days = daysBetween(first, last ?? first);
  if (days === undefined || from >= dayMinutes || to > dayMinutes || from === to) throw badWindow(text);
  const window = { days, from, to, timeZone };
  try {
    isOpenIn(window, 0);
  } catch {
    throw badWindow(text);
  }
  return window;
}

/** Returns when one of the windows is open next: `now` if one is, or if there are none. */
export function nextOpening(windows: readonly Window[], now: number): number {
  if (windows.length === 0 || windows.some((window) => isOpenIn(window, now))) return now;
  const start = Math.ceil(now / minuteMs) * minuteMs;
  // Eight days hold every window once, even if a change to summer time skips one.
  for (let at = start; at <= start + 15 * dayMinutes * minuteMs; at += minuteMs) {
    if (windows.some((window) => isOpenIn(window, at))) return at;
  }
  return start;
}

function isOpenIn({ days, from, to, timeZone }: Window, at: number): boolean {
  const { day, minute } = localTime(timeZone, at);
  if (from < to) return days.includes(day) && minute >= from && minute < to;
  return (days.includes(day) && minute >= from) || (days.includes((day + 6) % 7) && minute < to);
}

const formats = new Map<string, Intl.DateTimeFormat>();

function localTime(timeZone: string, at: number): { readonly day: number; readonly minute: number } {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
    });
  formats.set(timeZone, format);
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return {
    day: dayNames.indexOf(parts.get('weekday') ?? ''),
    minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
  };
}

function daysBetween(first: string | undefined, last: string | undefined): readonly number[] | undefined {
  if (first === undefined || last === undefined) return [0, 1, 2, 3, 4, 5, 6];
  const [start, end] = [dayNames.indexOf(first), dayNames.indexOf(last)];
  if (start < 0 || end < 0) return undefined;
  return Array.from({ length: ((end - start + 7) % 7) + 1 }, (_, index) => (start + index) % 7);
}

function badWindow(text: string): ImagoError {
  return new ImagoError('input-invalid', `${quote(text)} is not a maintenance window.`, {
    hint: 'Write it like "22:00-06:00", "Sat 08:00-12:00", or "Mon-Fri 22:00-06:00 Europe/Paris".',
  });
}
