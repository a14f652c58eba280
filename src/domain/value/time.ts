// Times as people and records write them: ISO 8601 in UTC. The clock itself is always passed in.

import { ImagoError } from '../error/imago-error.ts';
import { quote } from './quote.ts';

export function toIso(time: Date): string {
  return time.toISOString();
}

/**
 * The time of a record that must stand after the one before it. Records of one thing never run backwards,
 * whatever the clock does: one that stands still or behind gives a millisecond more than the last.
 */
export function stampAfter(now: Date, last: string | undefined): string {
  if (last === undefined) return toIso(now);
  return toIso(new Date(Math.max(now.getTime(), Date.parse(last) + 1)));
}

const timePattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$/;

/** Strict: a day (its first moment in UTC), or a time with its zone. Throws `input-invalid`. */
export function parseTime(text: string): Date {
  const match = timePattern.exec(text);
  if (match === null) throw badTime(text, 'Write it like 2026-03-03 or 2026-03-03T10:00:00Z.');
  const [, year, month, day, hour, minute, second, zone] = match;
  if (hour !== undefined && zone === undefined) {
    throw badTime(text, `Say the time zone, e.g. ${text}Z for UTC or ${text}+01:00.`);
  }
  const daysInMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const inRange =
    between(month, 1, 12) &&
    between(day, 1, daysInMonth) &&
    between(hour, 0, 23) &&
    between(minute, 0, 59) &&
    between(second, 0, 59);
  const time = new Date(text);
  if (!inRange || Number.isNaN(time.getTime())) throw badTime(text, 'There is no such day or time.');
  return time;
}

function between(text: string | undefined, low: number, high: number): boolean {
  return text === undefined || (Number(text) >= low && Number(text) <= high);
}

function badTime(text: string, hint: string): ImagoError {
  return new ImagoError('input-invalid', `${quote(text)} is not a time.`, { hint });
}
