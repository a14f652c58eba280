// The gate of age: how long the version must have been in an earlier channel. The longest of its stays counts. A clock
// that was set back makes an age shorter, never negative, so that the gate passes late then, and not early.
import * as z from 'zod';
import type { Stay } from '../channel/log.ts';
import { formatDuration } from '../value/duration.ts';
import { name } from '../value/fields.ts';
import { toIso } from '../value/time.ts';
import { defineGate, duration, type Finding } from './define-gate.ts';
import type { GateFacts } from './facts.ts';

interface AgeSettings {
  readonly in?: string;
  readonly atLeastMs: number;
}

export const ageGate = defineGate({
  settings: z
    .strictObject({
      in: name.optional().describe('Earlier channel. Defaults to the previous one.'),
      atLeast: duration,
    })
    .transform(
      ({ in: channel, atLeast }): AgeSettings => ({
        ...(channel === undefined ? {} : { in: channel }),
        atLeastMs: atLeast,
      }),
    )
    .describe('Minimum time in an earlier channel.'),
  check,
  weaker: (before, after) => ({ in: before.in !== after.in, atLeast: after.atLeastMs < before.atLeastMs }),
});

function check({ in: named, atLeastMs }: AgeSettings, { earlier, now }: GateFacts): Finding {
  const channel = earlier?.name ?? named;
  const asked = { needs: `${formatDuration(atLeastMs)} in ${channel ?? 'an earlier channel'}` };
  if (earlier === undefined || earlier.stays.length === 0) {
    return {
      ...asked,
      passed: false,
      value: channel ? `it never was in ${channel}` : 'there is no such channel',
    };
  }
  const ageMs = Math.max(...earlier.stays.map((stay) => lengthOf(stay, now)));
  const passed = ageMs >= atLeastMs;
  const current = earlier.stays.find(({ to }) => to === undefined);
  return {
    ...asked,
    passed,
    value: `it was there for ${formatDuration(ageMs)}`,
    ...(passed || current === undefined
      ? {}
      : {
          opensAt: toIso(
            new Date(Math.max(now, Date.parse(current.from)) + atLeastMs - lengthOf(current, now)),
          ),
        }),
  };
}

function lengthOf({ from, to }: Stay, now: number): number {
  return Math.max(0, (to === undefined ? now : Date.parse(to)) - Date.parse(from));
}
