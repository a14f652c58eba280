// The gate of freshness: no security update may be missing for too long. An old comparison proves as little as its age.
import type { GateResult } from '../channel/decision.ts';
import { describeFreshness, newestFreshness, oldestMs, securityUpdates } from '../evidence/freshness.ts';
import type { GateSettings } from '../policy/policy.ts';
import { formatDuration } from '../value/duration.ts';
import type { GateFacts } from './facts.ts';

export function freshGate(
  { securityMs }: GateSettings<'fresh'>,
  { version, evidence, now }: GateFacts,
): GateResult {
  const asked = {
    gate: 'fresh',
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
