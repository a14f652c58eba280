// From a pool's config to what one node reads: the node's own facts and its secrets filled in, what the fields need
// of the image added, in one form. The same input gives the same bytes, so a digest tells whether two are alike.
import { canonicalJson } from '../canonical-json.ts';
import { ImagoError } from '../errors.ts';
import { neededAbilities } from './abilities.ts';
import { isObject } from './check-field.ts';
import { secretName } from './check-value.ts';
import type { Field } from './field.ts';
import { type FieldPath, writePath } from './problem.ts';
import { nodeRules, readNodeConfig } from './read-node-config.ts';
import { type NodeConfig, nodeConfigSchema } from './schema.ts';

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
 * Throws `secret-not-found` for a name that `secrets` does not know, `node-config-invalid` when a secret does not
 * have the form of its field, `node-config-too-big` when it does not fit into instance metadata.
 */
export function renderNodeConfig(config: NodeConfig, facts: NodeFacts, secrets: ReadSecret): RenderedConfig {
  const node = {
    ...config.node,
    ...(facts.name === undefined ? {} : { name: facts.name }),
    ...(facts.pool === undefined ? {} : { pool: facts.pool }),
  };
  const whole: NodeConfig = { ...config, ...(Object.keys(node).length === 0 ? {} : { node }) };
  const requires = [...new Set([...(whole.requires ?? []), ...neededAbilities(whole)])].toSorted();
  const named = { ...whole, ...(requires.length === 0 ? {} : { requires }) };
  const text = canonicalJson(fillSecrets(nodeConfigSchema, named, [], secrets) as never);
  return { config: readNodeConfig(text, nodeRules).config, text };
}

function fillSecrets(field: Field, value: unknown, path: FieldPath, secrets: ReadSecret): unknown {
  if (field.type === 'text') return fillSecret(field.secret === true, value, path, secrets);
  if (field.type === 'list' && Array.isArray(value)) {
    return value.map((item, index) => fillSecrets(field.items, item, [...path, index], secrets));
  }
  if (!isObject(value) || (field.type !== 'object' && field.type !== 'map')) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const inner = field.type === 'map' ? field.values : field.fields[key];
      return [key, inner === undefined ? item : fillSecrets(inner, item, [...path, key], secrets)];
    }),
  );
}

function fillSecret(isSecret: boolean, value: unknown, path: FieldPath, secrets: ReadSecret): unknown {
  if (!isSecret || typeof value !== 'string' || !secretName.test(value)) return value;
  const name = value.slice('secret:'.length);
  const found = secrets(name);
  if (found !== undefined) return found.trim();
  throw new ImagoError('secret-not-found', `${writePath(path)} names the secret ${name}, and there is none.`);
}
