// Merges a new pool config with what a node has of its own, so that a change of the pool does not wipe the node's.
import { canonicalJson } from '../value/canonical-json.ts';
import type { Json } from '../value/json.ts';
import { identityOf, isObject } from './check-field.ts';
import type { Field, ListField } from './field.ts';
import { type NodeConfig, nodeConfigSchema } from './schema.ts';

/**
 * Returns the config of a node after its pool changed from `pool` to `next`: every value in which `node` differs
 * from `pool` stays the node's own, including what the node does not have; all others are those of `next`.
 */
export function mergeLayers(pool: NodeConfig, node: NodeConfig, next: NodeConfig): NodeConfig {
  return merge(nodeConfigSchema, pool, node, next) as NodeConfig;
}

function merge(field: Field, pool: unknown, node: unknown, next: unknown): unknown {
  if (same(pool, node)) return next;
  if (same(pool, next)) return node;
  if (isObject(node) && isObject(next)) {
    if (field.type === 'map') return mergeKeys(() => field.values, pool, node, next);
    if (field.type === 'object' && field.oneOf === undefined)
      return mergeKeys((key) => field.fields[key], pool, node, next);
  }
  if (field.type === 'list' && field.key !== undefined && Array.isArray(node) && Array.isArray(next)) {
    const [was, own, now] = [pool, node, next].map((items) => byIdentity(field, items));
    return Object.values(mergeKeys(() => field.items, was, own, now));
  }
  return node;
}

function mergeKeys(
  fieldOf: (key: string) => Field | undefined,
  ...layers: readonly [unknown, unknown, unknown]
): Record<string, unknown> {
  const [pool, node, next] = layers.map((layer) => (isObject(layer) ? layer : {}));
  const merged: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(next ?? {}), ...Object.keys(node ?? {})])) {
    const field = fieldOf(key);
    const value = field === undefined ? node?.[key] : merge(field, pool?.[key], node?.[key], next?.[key]);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

function byIdentity(field: ListField, items: unknown): Record<string, unknown> {
  if (!Array.isArray(items)) return {};
  return Object.fromEntries(items.map((item) => [identityOf(field, item) ?? canonicalJson(item), item]));
}

function same(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalJson(a as Json) === canonicalJson(b as Json);
}
