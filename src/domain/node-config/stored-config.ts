// Node configs as pools and operations store them: secrets are listed by name.
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { readNodeConfig, storedRules } from './read-node-config.ts';
import type { NodeConfig } from './schema.ts';

/** The config of a pool that has none. */
export const emptyConfig: NodeConfig = { schemaVersion: 1 };

/** Reads a stored config; `{}` is that of a pool that has none. Throws `node-config-invalid`. */
export function readStoredConfig(text: string): NodeConfig {
  return text === '{}' ? emptyConfig : readNodeConfig(text, storedRules).config;
}

export function storedText(config: NodeConfig): string {
  return canonicalJson(config as Json);
}
