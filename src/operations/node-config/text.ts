// Node configs as pools store them, and as nodes read them: secrets are named in the one and filled in in the other,
// so that no record, log or answer ever holds one.

import { ImagoError } from '../../domain/error/imago-error.ts';
import { hideSecrets, secretNames } from '../../domain/node-config/map-secrets.ts';
import { nodeRules, readNodeConfig } from '../../domain/node-config/read-node-config.ts';
import { type NodeFacts, renderNodeConfig } from '../../domain/node-config/render.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import type { OperationDeps } from '../common/deps.ts';

/** What a node reads, or all nodes of a pool. Holds secrets. Throws `secret-not-found`. */
export async function renderText(deps: OperationDeps, config: NodeConfig, facts: NodeFacts): Promise<string> {
  const secrets = new Map<string, string>();
  for (const name of secretNames(config)) {
    const secret = await deps.readSecret?.(name);
    if (secret !== undefined) secrets.set(name, secret);
  }
  return renderNodeConfig(config, facts, (name) => secrets.get(name)).text;
}

/**
 * Returns the config of a node in a form that may be recorded: secrets of the `known` configs by their names, others left
 * out. `undefined` if it is not a valid node config: what of it is secret is unknown.
 */
export async function recordableConfig(
  deps: OperationDeps,
  text: string,
  known: readonly NodeConfig[],
): Promise<NodeConfig | undefined> {
  const names = new Map<string, string>();
  for (const name of known.flatMap(secretNames)) {
    const secret = await deps.readSecret?.(name);
    if (secret !== undefined) names.set(secret.trim(), name);
  }
  try {
    const { config } = readNodeConfig(text, nodeRules);
    return hideSecrets(config, names);
  } catch (thrown) {
    if (thrown instanceof ImagoError) return undefined;
    throw thrown;
  }
}
