// The gate of node configs: the agent of the version accepts the configs of the pools that follow the channel.
import * as z from 'zod';
import { missingAbilities } from '../node-config/capabilities.ts';
import { defineGate, type Finding } from './define-gate.ts';
import type { AgentOffers, Follower, GateFacts } from './facts.ts';

export const nodeConfigGate = defineGate({
  settings: z
    .literal(true)
    .describe('The version must accept the node configs of pools that follow the channel.'),
  check,
  weaker: () => ({}),
});

/**
 * An agent reads the schema version that it was tested with and those before, and refuses later ones; and it refuses a
 * config that requires what the image does not have.
 */
function check(_settings: true, { composed, offers, followers }: GateFacts): Finding {
  const asked = { needs: 'an agent that accepts the node configs of pools that follow' };
  const written = followers.filter(({ schemaVersion }) => schemaVersion !== undefined);
  if (written.length === 0) {
    return { ...asked, passed: true, value: `no config among ${followers.length} pools that follow` };
  }
  const known = composed?.nodeConfig?.schemaVersion;
  if (known === undefined) {
    return { ...asked, passed: false, value: 'it was not tested with a node config' };
  }
  const refused = written.flatMap((pool) => refusal(pool, known, offers) ?? []);
  return {
    ...asked,
    passed: refused.length === 0,
    value:
      refused.length === 0 ? `schema version ${known} serves ${written.length} pools` : refused.join('; '),
  };
}

function refusal(
  { name, schemaVersion = 0, requires }: Follower,
  known: number,
  offers: AgentOffers | undefined,
): string | undefined {
  if (schemaVersion > known) return `schema version ${known} is too old for ${name}`;
  if (requires.length === 0) return undefined;
  if (offers === undefined) return `${name} requires ${requires.join(', ')}, and nobody saw what it can do`;
  const { components, hidesComponents } = offers;
  const missing = missingAbilities(requires, offers, (component) => components[component] ?? []);
  const told = missing.filter((one) => !(hidesComponents && one.startsWith('component:')));
  return told.length === 0 ? undefined : `it lacks ${told.join(', ')} for ${name}`;
}
