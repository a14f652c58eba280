// Walks the secrets of a node config: to fill them in just before a node reads them, and to take them out of what
// a node read before it is written down anywhere.
import { isObject } from './check-field.ts';
import { secretName } from './check-value.ts';
import type { Field } from './field.ts';
import type { FieldPath } from './problem.ts';
import { type NodeConfig, nodeConfigSchema } from './schema.ts';

/** The same document with each secret changed; one for which `change` gives nothing is left out. */
export function mapSecrets(
  config: NodeConfig,
  change: (text: string, path: FieldPath) => string | undefined,
): NodeConfig {
  return walk(nodeConfigSchema, config, [], change) as NodeConfig;
}

function walk(
  field: Field,
  value: unknown,
  path: FieldPath,
  change: (text: string, path: FieldPath) => string | undefined,
): unknown {
  if (field.type === 'text') {
    return field.secret === true && typeof value === 'string' ? change(value, path) : value;
  }
  if (field.type === 'list' && Array.isArray(value)) {
    return value.map((item, index) => walk(field.items, item, [...path, index], change));
  }
  if (!isObject(value) || (field.type !== 'object' && field.type !== 'map')) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const inner = field.type === 'map' ? field.values : field.fields[key];
    return [key, inner === undefined ? item : walk(inner, item, [...path, key], change)] as const;
  });
  const kept = entries.filter(([, item]) => item !== undefined);
  const emptied = field.type === 'object' && field.oneOf !== undefined && kept.length === 0;
  return emptied ? undefined : Object.fromEntries(kept);
}

const prefix = 'secret:';

/** The name in `secret:NAME`; `undefined` for a text that is itself the secret. */
export function nameOfSecret(text: string): string | undefined {
  return secretName.test(text) ? text.slice(prefix.length) : undefined;
}

/** The names of the secrets that a config needs. */
export function secretNames(config: NodeConfig): readonly string[] {
  const found = new Set<string>();
  mapSecrets(config, (text) => {
    const name = nameOfSecret(text);
    if (name !== undefined) found.add(name);
    return text;
  });
  return [...found].toSorted();
}

/** What may be written down: each secret by its name, and those without one left out. */
export function hideSecrets(config: NodeConfig, names: ReadonlyMap<string, string>): NodeConfig {
  return mapSecrets(config, (text) => {
    if (nameOfSecret(text) !== undefined) return text;
    const name = names.get(text);
    return name === undefined ? undefined : `${prefix}${name}`;
  });
}
