// The texts of a config that must never be shown.
import { isObject } from '../../domain/node-config/check-field.ts';
import type { Field } from '../../domain/node-config/field.ts';
import { nodeConfigSchema } from '../../domain/node-config/schema.ts';

export function secretsOf(config: unknown): readonly string[] {
  return collect(nodeConfigSchema, config);
}

function collect(field: Field | undefined, value: unknown): readonly string[] {
  if (field === undefined) return [];
  if (field.secret === true) return typeof value === 'string' && value.length > 3 ? [value] : [];
  if (field.type === 'list' && Array.isArray(value))
    return value.flatMap((item) => collect(field.items, item));
  if (!isObject(value) || (field.type !== 'object' && field.type !== 'map')) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    collect(field.type === 'map' ? field.values : field.fields[key], item),
  );
}
