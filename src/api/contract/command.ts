// Derives the command of an endpoint from its contract, as plain data: the generated list loads no schemas, so commands
// start fast.
import * as z from 'zod';
import type { EndpointContract } from './endpoint.ts';

export interface DerivedCommand {
  readonly endpoint: string;
  readonly effect: EndpointContract['effect'];
  readonly words: string;
  readonly summary: string;
  readonly details?: string | undefined;
  readonly irreversible?: true | undefined;
  readonly args: readonly { readonly name: string; readonly description: string; readonly field: string }[];
  readonly flags: Readonly<Record<string, DerivedFlag>>;
  readonly examples: readonly (readonly [command: string, caption: string])[];
  readonly columns?: readonly string[] | undefined;
  readonly done?: string | undefined;
}

export interface DerivedFlag {
  readonly field: string;
  readonly description: string;
  /** Absent for switches. */
  readonly value?: string | undefined;
  readonly number?: true | undefined;
  readonly required?: true | undefined;
  readonly repeated?: true | undefined;
  readonly choices?: readonly string[] | undefined;
}

/** Returns `undefined` for an endpoint that does not declare a command. */
export function commandOf(endpoint: string, contract: EndpointContract): DerivedCommand | undefined {
  const { command, summary, effect, path, query, body } = contract;
  if (command === undefined) return undefined;
  const { args = [], details = contract.description, ...rest } = command;
  const parameters = Object.keys(path?.shape ?? {});
  const fields = [query, body].flatMap((schema) => (schema === undefined ? [] : fieldsOf(schema)));
  const description = (name: string) => fields.find(([field]) => field === name)?.[1].description;
  return {
    ...{ endpoint, effect, summary, details },
    ...rest,
    args: [...parameters, ...args].map((field) => ({
      ...{ name: field.toUpperCase(), field },
      description: description(field) ?? `Name of the ${field}`,
    })),
    flags: Object.fromEntries(
      fields.filter(([field]) => !args.includes(field)).map(([field, flag]) => [kebabCase(field), flag]),
    ),
  };
}

/** The part of JSON Schema that the fields of requests use. */
interface Field {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: Field;
}

function fieldsOf(schema: z.ZodType): readonly (readonly [string, DerivedFlag])[] {
  // Without its name, the schema is written out instead of referenced.
  const object = schema instanceof z.ZodObject ? z.strictObject(schema.shape) : schema;
  const { properties = {}, required = [] } = z.toJSONSchema(object, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties as Readonly<Record<string, Field>>).map(([field, shape]) => {
    const item = shape.items ?? shape;
    const isNumber = item.type === 'integer' || item.type === 'number';
    const flag = {
      field,
      description: (shape.description ?? field).replace(/\.$/, ''),
      ...(item.type !== 'boolean' && { value: isNumber ? 'N' : field.toUpperCase() }),
      ...(isNumber && { number: true as const }),
      ...(required.includes(field) && { required: true as const }),
      ...(shape.type === 'array' && { repeated: true as const }),
      ...(item.enum && { choices: item.enum }),
    };
    return [field, flag];
  });
}

function kebabCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
