// The JSON Schema of the node config, for editors and for programs that write configs.
import type { Json } from '../value/json.ts';
import { describeValue } from './describe-value.ts';
import type { Cost, Field, TextForm } from './field.ts';
import { nodeConfigSchema, schemaRelease } from './schema.ts';

type Schema = { readonly [key: string]: Json | undefined };

export function nodeConfigJsonSchema(): Schema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `Node config ${schemaRelease}`,
    ...schemaOf(nodeConfigSchema, nodeConfigSchema.cost),
  };
}

const oneLine = '^[^\\u0000-\\u001f\\u007f]*$';
const namedSecret = '^secret:[a-z0-9][a-z0-9-]{0,62}$';
const longestLine = 1024;

/** `x-cost` is what a change of the field costs; the fields below it inherit it. */
function schemaOf(field: Field, inherited: Cost): Schema {
  const cost = field.cost ?? inherited;
  return {
    description: field.about,
    ...(field.default === undefined ? {} : { default: field.default }),
    ...(field.example === undefined ? {} : { examples: [field.example] }),
    'x-cost': cost,
    ...(field.secret === true ? { writeOnly: true } : {}),
    ...valueSchema(field, cost),
  };
}

function valueSchema(field: Field, cost: Cost): Schema {
  switch (field.type) {
    case 'text':
      return textSchema(field);
    case 'scalar':
      return scalarSchema(field.form);
    case 'choice':
      return { type: 'string', enum: [...field.of] };
    case 'whole':
      return { type: 'integer', minimum: field.min, maximum: field.max };
    case 'number':
      return { type: 'number', minimum: field.min, maximum: field.max };
    case 'boolean':
      return { type: 'boolean' };
    case 'any':
      return {};
    case 'list':
      return {
        type: 'array',
        items: schemaOf(field.items, cost),
        ...(field.minItems === undefined ? {} : { minItems: field.minItems }),
        maxItems: field.maxItems,
        ...(field.key === undefined ? { uniqueItems: true } : {}),
      };
    case 'map':
      return {
        type: 'object',
        propertyNames: { pattern: field.keys.pattern, description: field.keys.says },
        additionalProperties: schemaOf(field.values, cost),
        maxProperties: field.maxItems,
      };
    case 'object': {
      const entries = Object.entries(field.fields);
      const required = entries.filter(([, one]) => one.required === true).map(([name]) => name);
      return {
        type: 'object',
        properties: Object.fromEntries(entries.map(([name, one]) => [name, schemaOf(one, cost)])),
        ...(required.length === 0 ? {} : { required }),
        ...(field.oneOf === undefined ? {} : { oneOf: field.oneOf.map((name) => ({ required: [name] })) }),
        additionalProperties: false,
      };
    }
  }
}

function textSchema(field: Extract<Field, { readonly type: 'text' }>): Schema {
  const pattern = field.form?.pattern ?? (field.multiline === true ? undefined : oneLine);
  const plain = { maxLength: field.maxLength ?? longestLine, ...(pattern === undefined ? {} : { pattern }) };
  if (field.secret !== true) return { type: 'string', ...plain };
  return { type: 'string', anyOf: [{ pattern: namedSecret }, plain], title: describeValue(field) };
}

function scalarSchema(form: TextForm | undefined): Schema {
  const whole = { type: 'integer', ...(form === undefined ? {} : { minimum: 0 }) };
  const text = { type: 'string', maxLength: longestLine, pattern: form?.pattern ?? oneLine };
  return { anyOf: [whole, text] };
}
