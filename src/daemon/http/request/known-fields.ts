// Which fields a schema has at a path: for telling the nearest one to a field that it does not have.
import * as z from 'zod';

export function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let places: readonly z.ZodType[] = [schema];
  for (const key of path)
    places = places.flatMap((place) => unwrap(place)).flatMap((place) => step(place, key));
  const names = places
    .flatMap((place) => unwrap(place))
    .flatMap((place) => (isObject(place) ? fieldsOf(place) : []));
  return [...new Set(names)];
}

function step(schema: z.ZodType, key: PropertyKey): readonly z.ZodType[] {
  if (isObject(schema)) {
    const next: unknown = schema.shape[String(key)];
    return next instanceof z.ZodType ? [next] : [];
  }
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  return schema instanceof z.ZodRecord ? [schema.valueType as z.ZodType] : [];
}

/** Through what only wraps (optional, default, …), and into each branch of a union. */
function unwrap(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => unwrap(option as z.ZodType));
  return [schema];
}

function isObject(schema: z.ZodType): schema is z.ZodObject {
  return schema instanceof z.ZodObject;
}

function fieldsOf(schema: z.ZodObject): readonly string[] {
  return Object.keys(schema.shape);
}
