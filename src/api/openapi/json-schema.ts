// Converts zod schemas to JSON Schema (2020-12, the dialect of OpenAPI 3.1), and collects the named ones.
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

export type JsonSchema = { readonly [key: string]: unknown };

export interface SchemaCollector {
  /** Returns the schema with references to its named parts. */
  add(schema: z.ZodType, io: 'input' | 'output'): JsonSchema;
  /** The named schemas so far. */
  readonly named: ReadonlyMap<string, JsonSchema>;
}

/** Collects each named schema once. Throws if two different schemas have the same name. */
export function collectSchemas(prefix: string): SchemaCollector {
  const named = new Map<string, JsonSchema>();

  function keep(id: string, schema: JsonSchema): void {
    const known = named.get(id);
    if (known !== undefined && !isDeepStrictEqual(known, schema)) {
      throw new Error(`Two schemas are named ${id}.`);
    }
    named.set(id, schema);
  }

  return {
    named,
    add(schema, io) {
      const { $schema: _, $defs = {}, ...rest } = convert(schema, io);
      for (const [id, part] of Object.entries($defs)) keep(id, moveReferences(part, prefix) as JsonSchema);
      return moveReferences(rest, prefix) as JsonSchema;
    },
  };
}

function convert(schema: z.ZodType, io: 'input' | 'output') {
  return z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      delete jsonSchema.readOnly;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // Responses can gain fields, which generated clients must accept.
      if (io === 'output' && jsonSchema.additionalProperties === false)
        delete jsonSchema.additionalProperties;
    },
  });
}

function moveReferences(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((item) => moveReferences(item, prefix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) =>
      key === '$ref' && typeof part === 'string'
        ? [key, part.replace('#/$defs/', prefix)]
        : [key, moveReferences(part, prefix)],
    ),
  );
}
