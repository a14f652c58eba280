// What this image can honour of a node config.
import { abilitiesPath, agentAbilities, type ImageAbilities } from '../domain/node-config/capabilities.ts';
import type { System } from './system/system.ts';

/** What the image says, as far as this agent can do it. */
export function offeredAbilities(system: System): ImageAbilities {
  const own = agentAbilities();
  const text = system.readText(abilitiesPath);
  if (text === undefined) return own;
  const { abilities } = JSON.parse(text) as ImageAbilities;
  return { ...own, abilities: own.abilities.filter((name) => abilities.includes(name)) };
}
