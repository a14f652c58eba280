// The gate of freshness: no security update may be missing for too long. An old comparison proves as little as its age.
import * as z from 'zod';
import { describeFreshness, newestFreshness, oldestMs, securityUpdates } from '../evidence/freshness.ts';
import { formatDuration } from '../value/duration.ts';
import { defineGate, duration, type Finding } from './define-gate.ts';
import type { GateFacts } from './facts.ts';

interface FreshSettings {
  readonly securityMs: number;
}

export const freshGate = defineGate({
  settings: z
    .strictObject({ security: duration.describe('How long a security update can be missing.') })
    .transform(({ security }): FreshSettings => ({ securityMs: security }))
    .describe('Security updates that the packages lack, by the signed index of their archive.'),
  check,
  weaker: (before, after) => ({ security: after.securityMs > before.securityMs }),
});

function check({ securityMs }: FreshSettings, { version, evidence, now }: GateFacts): Finding {
  const asked = {
    needs: `no security update missing for more than ${formatDuration(securityMs)}`,
  };
  const newest = newestFreshness(version.digest, evidence);
  if (newest === undefined)
    return { ...asked, passed: false, value: 'its packages were not compared with their archive' };
  const { found } = newest;
  const indexMs = now - Date.parse(found.indexedAt);
  const missingMs = oldestMs(securityUpdates(found), now) ?? 0;
  return {
    ...asked,
    passed: found.hasSecurity && indexMs <= securityMs && missingMs <= securityMs,
    value: `${describeFreshness(found, now)}; the index is ${formatDuration(indexMs)} old`,
    evidence: [newest.evidence.id],
  };
}
