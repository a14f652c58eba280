// What this agent can honour of a node config. The schema knows more: an image that needs it is for a later agent,
// and until then such a config is refused as a whole.
import { abilitiesPath, agentAbilities, type ImageAbilities } from '../domain/node-config/abilities.ts';
import type { System } from './system.ts';

/** Kernel arguments are sealed into the image's boot files, and a swap file is none that the journal could undo. */
const missing: readonly string[] = ['kernel-arguments', 'swap'];

export function ownAbilities(): ImageAbilities {
  const all = agentAbilities();
  return { ...all, abilities: all.abilities.filter((name) => !missing.includes(name)) };
}

/** What the image says, as far as this agent can do it. */
export function offeredAbilities(system: System): ImageAbilities {
  const own = ownAbilities();
  const text = system.readText(abilitiesPath);
  if (text === undefined) return own;
  const { abilities } = JSON.parse(text) as ImageAbilities;
  return { ...own, abilities: own.abilities.filter((name) => abilities.includes(name)) };
}
