// Lengths of time as people write and read them.

import { ImagoError } from '../error/imago-error.ts';
import { quote } from './quote.ts';

const units = [
  { name: 'd', ms: 86_400_000, shown: 'd' },
  { name: 'h', ms: 3_600_000, shown: 'h' },
  { name: 'm', ms: 60_000, shown: 'min' },
  { name: 's', ms: 1000, shown: 's' },
] as const;

const pattern = /^(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9]+)s)?(?:([0-9]+)ms)?$/;

/** Milliseconds of `90s`, `1h30m`, `7d` or `500ms`; the greater unit first. Throws `input-invalid`. */
export function parseDuration(text: string): number {
  const match = text === '' ? null : pattern.exec(text);
  if (match === null) throw badDuration(text);
  const [, days, hours, minutes, seconds, rest] = match;
  const parts = [days, hours, minutes, seconds].map(
    (part, index) => Number(part ?? 0) * (units[index]?.ms ?? 0),
  );
  const total = parts.reduce((sum, part) => sum + part, Number(rest ?? 0));
  if (!Number.isSafeInteger(total)) throw badDuration(text);
  return total;
}

/** At most two units: `850 ms`, `3.2 s`, `7 min 3 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const length = Math.max(0, Math.round(ms));
  if (length < 1000) return `${length} ms`;
  if (length < 9950) return `${Number((length / 1000).toFixed(1))} s`;
  const seconds = Math.round(length / 1000) * 1000;
  const first = units.findIndex((unit) => seconds >= unit.ms);
  const great = units[first];
  const small = units[first + 1];
  if (great === undefined || small === undefined) return `${seconds / 1000} s`;
  const inSmall = Math.round(seconds / small.ms);
  const perGreat = great.ms / small.ms;
  const greater = units[first - 1];
  if (greater !== undefined && inSmall * small.ms >= greater.ms) return `1 ${greater.shown}`;
  const left = inSmall % perGreat;
  const whole = `${Math.floor(inSmall / perGreat)} ${great.shown}`;
  return left === 0 ? whole : `${whole} ${left} ${small.shown}`;
}

function badDuration(text: string): ImagoError {
  return new ImagoError('input-invalid', `${quote(text)} is not a length of time.`, {
    hint: 'Write it like 90s, 1h30m or 7d.',
  });
}
