// The gate of freezes: times in which nothing is promoted.
import * as z from 'zod';
import { canonicalJson } from '../value/canonical-json.ts';
import { sentence } from '../value/fields.ts';
import { toIso } from '../value/time.ts';
import { defineGate, type Finding, includesAll } from './define-gate.ts';
import type { GateFacts } from './facts.ts';
import { type FreezeWindow, frozenBy, isOver, isTimeZone, opensAt, weekdays } from './freeze-windows.ts';

const clockTime = z
  .string()
  .refine((text) => /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/.test(text), 'is not a time of day')
  .describe('HH:MM in the time zone.');
const day = z
  .string()
  .refine(
    (text) => /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T(?:[01][0-9]|2[0-3]):[0-5][0-9])?$/.test(text),
    'is not a day',
  )
  .describe('2026-12-20 or 2026-12-20T16:00, in the time zone.');
const frozen = {
  timeZone: z
    .string()
    .refine(isTimeZone, 'is not a time zone')
    .describe('IANA time zone, for example `Europe/Paris`. Defaults to UTC.')
    .default('UTC'),
  why: sentence.describe('Shown to users whose promotion is blocked.'),
};

const freezeWindow = z
  .union([
    z.strictObject({ days: z.array(z.enum(weekdays)).min(1), from: clockTime, to: clockTime, ...frozen }),
    z.strictObject({ from: day, to: day, ...frozen }),
  ])
  .describe('Weekly on `days`, or once without `days`. Ends just before `to`.')
  .transform((window, context) => {
    if ('days' in window) return { kind: 'weekly' as const, ...window };
    if (window.from >= window.to) {
      context.addIssue({ code: 'custom', message: 'ends before it starts' });
      return z.NEVER;
    }
    return { kind: 'dated' as const, ...window };
  });

export const freezeGate = defineGate({
  settings: z.array(freezeWindow).describe('Periods without promotions.'),
  check,
  weaker: (before, after, now) => ({
    windows: !includesAll(after.map(timesOf), before.filter((window) => !isOver(window, now)).map(timesOf)),
  }),
});

function check(windows: readonly FreezeWindow[], { now }: GateFacts): Finding {
  const asked = { needs: 'a time that is not frozen' };
  const window = frozenBy(windows, now);
  if (window === undefined) return { ...asked, passed: true, value: 'nothing is frozen' };
  const opens = opensAt(windows, now);
  return {
    ...asked,
    passed: false,
    value: `frozen: ${window.why}`,
    ...(opens === undefined ? {} : { opensAt: toIso(new Date(opens)) }),
  };
}

function timesOf({ why: _, ...times }: FreezeWindow): string {
  return canonicalJson({ ...times });
}
