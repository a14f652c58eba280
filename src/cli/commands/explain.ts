// Explains a field of the documents that people write, from their JSON Schemas.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nearest } from '../../domain/value/suggest.ts';
import { argument, type CommandSpec } from '../spec/command.ts';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly $ref?: string;
}

const documents: Readonly<Record<string, () => Promise<unknown>>> = {
  recipe: async () => (await import('../../domain/recipe/schema.ts')).recipeJsonSchema(),
  policy: async () => (await import('../../domain/policy/schema.ts')).policyJsonSchema(),
  'node-config': async () => (await import('../../domain/node-config/json-schema.ts')).nodeConfigJsonSchema(),
};

export const command: CommandSpec = {
  details: `Documents: ${Object.keys(documents).join(', ')}.`,
  args: [{ name: 'FIELD', description: 'Document, or a field of it with its path' }],
  examples: [
    ['imago explain recipe', 'List the fields of a recipe'],
    ['imago explain recipe.disk', 'Explain one field and those below it'],
  ],
  async run(invocation) {
    const path = argument(invocation, 'FIELD');
    const [kind = '', ...names] = path.split('.');
    const load = Object.hasOwn(documents, kind) ? documents[kind] : undefined;
    if (load === undefined) throw unknown(`There is no document ${kind}.`, kind, Object.keys(documents));
    const root = (await load()) as Schema;
    let schema = plain(root, root);
    let isRequired = false;
    for (const [index, name] of names.entries()) {
      const { fields, required } = fieldsOf(root, schema);
      const next = fields[name] ?? fields['*'];
      const parent = [kind, ...names.slice(0, index)].join('.');
      if (next === undefined) throw unknown(`${parent} has no field ${name}.`, name, Object.keys(fields));
      isRequired = required.includes(name);
      schema = plain(root, next);
    }
    const { fields } = fieldsOf(root, schema);
    const lines = explain(root, path, schema, isRequired, fields);
    invocation.out.thing({ path, required: isRequired, ...schema }, path, () => lines);
  },
};

function explain(
  root: Schema,
  path: string,
  schema: Schema,
  isRequired: boolean,
  fields: Readonly<Record<string, Schema>>,
): readonly string[] {
  const names = Object.keys(fields);
  const width = Math.max(0, ...names.map((name) => name.length));
  const note = (label: string, value: unknown) =>
    value === undefined ? [] : [`${label}: ${typeof value === 'string' ? value : JSON.stringify(value)}`];
  return [
    `${path} <${typeOf(root, schema)}>${isRequired ? ', required' : ''}`,
    ...(schema.description === undefined ? [] : ['', schema.description]),
    ...note('Default', schema.default),
    ...note('Pattern', schema.pattern),
    ...(names.length === 0 ? [] : ['', 'Fields:']),
    ...names.map((name) => {
      const field = plain(root, fields[name] ?? {});
      const text = field.description === undefined ? '' : `  ${field.description}`;
      return `  ${name.padEnd(width)}  <${typeOf(root, field)}>${text}`;
    }),
  ];
}

/** Follows a reference. */
function plain(root: Schema, schema: Schema): Schema {
  const parts = schema.$ref?.replace(/^#\/?/, '').split('/').filter(Boolean);
  if (parts === undefined) return schema;
  const found = parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], root);
  return { ...plain(root, found as Schema), ...(schema.description && { description: schema.description }) };
}

function variants(schema: Schema): readonly Schema[] {
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
}

/** The fields of an object, of the items of a list, and of the values of a map, whose name is `*`. */
function fieldsOf(
  root: Schema,
  schema: Schema,
): { readonly fields: Readonly<Record<string, Schema>>; readonly required: readonly string[] } {
  const { additionalProperties: other, items } = schema;
  const below = [...variants(schema), ...(items === undefined ? [] : [items])].map((one) =>
    fieldsOf(root, plain(root, one)),
  );
  const any: Record<string, Schema> = typeof other === 'object' ? { '*': other } : {};
  return {
    fields: Object.assign({}, ...below.map(({ fields }) => fields), schema.properties, any),
    required: [...(schema.required ?? []), ...below.flatMap(({ required }) => required)],
  };
}

function typeOf(root: Schema, schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === 'array') return `list of ${typeOf(root, plain(root, schema.items ?? {}))}`;
  if (schema.type !== undefined) return schema.type;
  const types = variants(schema).map((one) => typeOf(root, plain(root, one)));
  return types.length === 0 ? 'any' : [...new Set(types)].join(' | ');
}

function unknown(message: string, name: string, known: readonly string[]): ImagoError {
  const [close] = nearest(name, known);
  const all = known.length === 0 ? 'It has no fields.' : `Known: ${known.join(', ')}.`;
  return new ImagoError('usage-invalid', message, {
    hint: close === undefined ? all : `Did you mean ${close}? ${all}`,
  });
}
