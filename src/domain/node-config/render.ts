// From a pool's config to what one node reads: the node's own facts and its secrets filled in, what the fields need
// of the image added, in one form. The same input gives the same bytes, so a digest tells whether two are alike.

import { ImagoError } from '../error/imago-error.ts';
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { neededAbilities } from './capabilities.ts';
import { mapSecrets, nameOfSecret } from './map-secrets.ts';
import { type FieldPath, writePath } from './problem.ts';
import { nodeRules, readNodeConfig, strictRules } from './read-node-config.ts';
import type { NodeConfig } from './schema.ts';

export interface NodeFacts {
  /** Absent in what all nodes of a pool share: there each takes its name from instance metadata. */
  readonly name?: string;
  readonly pool?: string;
}

/** The text of a secret by its name; `undefined` when there is none. */
export type ReadSecret = (name: string) => string | undefined;

export interface RenderedConfig {
  readonly config: NodeConfig;
  /** What the node reads: canonical JSON. Holds secrets. */
  readonly text: string;
}

/**
 * Without `secrets` those that stand in the config by their names stay names, for people to look at.
 * Throws `secret-not-found` for a name that `secrets` does not know, `node-config-invalid` when a secret does not
 * have the form of its field, `node-config-too-big` when it does not fit into instance metadata.
 */
export function renderNodeConfig(
  config: NodeConfig,
  facts: NodeFacts,
  secrets: ReadSecret | undefined,
): RenderedConfig {
  const node = {
    ...config.node,
    ...(facts.name === undefined ? {} : { name: facts.name }),
    ...(facts.pool === undefined ? {} : { pool: facts.pool }),
  };
  const whole: NodeConfig = { ...config, ...(Object.keys(node).length === 0 ? {} : { node }) };
  const requires = [...new Set([...(whole.requires ?? []), ...neededAbilities(whole)])].toSorted();
  const named = { ...whole, ...(requires.length === 0 ? {} : { requires }) };
  const filled =
    secrets === undefined ? named : mapSecrets(named, (secret, path) => fill(secret, path, secrets));
  const text = canonicalJson(filled as Json);
  return { config: readNodeConfig(text, secrets === undefined ? strictRules : nodeRules).config, text };
}

function fill(text: string, path: FieldPath, secrets: ReadSecret): string {
  const name = nameOfSecret(text);
  if (name === undefined) return text;
  const found = secrets(name);
  if (found !== undefined) return found.trim();
  throw new ImagoError('secret-not-found', `${writePath(path)} names the secret ${name}, and there is none.`);
}
