// Refuses a node config before it is sent where the image is known to lack what it needs. A version whose disk no one could
// look into is left to its own agent, which refuses by the same rule.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { neededAbilities, requireAbilities } from '../../domain/node-config/capabilities.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { OperationDeps } from '../common/deps.ts';

/** The part of a disk's inventory that this is about. */
interface AgentFacts {
  readonly abilities: readonly string[];
  readonly components: Readonly<Record<string, readonly string[]>>;
  readonly hidesComponents?: true;
}

interface Version {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
}

/** A component that is not shown may be there all the same. */
function isHidden({ components, hidesComponents }: AgentFacts, need: string): boolean {
  const name = /^component:([^=]+)/.exec(need)?.[1];
  return hidesComponents === true && name !== undefined && components[name] === undefined;
}

/** Throws `node-config-requires` with the image and all that it lacks. */
export async function requireImageAbilities(
  { images }: OperationDeps,
  { image, version, digest }: Version,
  config: NodeConfig,
): Promise<void> {
  const needed = [...new Set([...(config.requires ?? []), ...neededAbilities(config)])];
  if (needed.length === 0) return;
  const text = await images?.records.read(digest, 'inventory');
  if (text === undefined) return;
  const { agent } = JSON.parse(text) as { readonly agent?: AgentFacts };
  if (agent === undefined) return;
  try {
    requireAbilities(
      needed.filter((one) => !isHidden(agent, one)),
      agent,
      (name) => agent.components[name] ?? [],
    );
  } catch (thrown) {
    const { code, message, hint, details } = ensureImagoError(thrown);
    throw new ImagoError(code, message.replace('this image', `${image}:${version}`), {
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details }),
      cause: thrown,
    });
  }
}
