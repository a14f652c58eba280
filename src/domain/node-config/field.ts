// What a field of the node config is, as plain data: the same tables make the types, the check on the node and on
// the command line, the plan of a change, the JSON Schema and the page in the docs. No library: this runs in the agent.
import type { Json } from '../value/json.ts';

/** What changing a field on a running node costs, from nothing to a new disk. */
export const costs = ['live', 'restart', 'drain', 'reimage'] as const;
export type Cost = (typeof costs)[number];

interface FieldFacts {
  /** What it does, in full sentences. */
  readonly about: string;
  /** Of a change. Fields without one cost what the field around them costs. */
  readonly cost?: Cost;
  /** The version of the schema that brought it, when it is later than that of the field around it. */
  readonly since?: string;
  /** Must be given wherever the object that it belongs to is given. */
  readonly required?: true;
  /** What holds when it is absent. */
  readonly default?: Json;
  /** Its value is never shown: not in an error, a plan, a log or a record. */
  readonly secret?: true;
  /** What an image must be able to do to honour it; renders into `requires`. */
  readonly ability?: string;
  readonly example?: Json;
}

/** A form that a text must have. Patterns are anchored and mean the same in every engine. */
export interface TextForm {
  readonly pattern: string;
  /** The end of the sentence "X is not …". */
  readonly says: string;
  readonly hint?: string;
}

export interface TextField extends FieldFacts {
  readonly type: 'text';
  readonly form?: TextForm;
  readonly maxLength?: number;
  /** May have line breaks and other control characters. */
  readonly multiline?: true;
}

export interface ChoiceField extends FieldFacts {
  readonly type: 'choice';
  readonly of: readonly string[];
}

export interface WholeField extends FieldFacts {
  readonly type: 'whole';
  readonly min: number;
  readonly max: number;
}

export interface NumberField extends FieldFacts {
  readonly type: 'number';
  readonly min: number;
  readonly max: number;
}

export interface BooleanField extends FieldFacts {
  readonly type: 'boolean';
}

/** A text of one line, or a whole number, as kernel parameters have. */
export interface ScalarField extends FieldFacts {
  readonly type: 'scalar';
  readonly form?: TextForm;
}

/** Any JSON: handed on to a program that checks it itself. */
export interface AnyField extends FieldFacts {
  readonly type: 'any';
}

export interface ListField extends FieldFacts {
  readonly type: 'list';
  readonly items: Field;
  /** The fields of an item that tell items apart; plain items are told apart by themselves. */
  readonly key?: readonly string[];
  readonly minItems?: number;
  readonly maxItems: number;
}

export interface MapField extends FieldFacts {
  readonly type: 'map';
  readonly keys: TextForm;
  readonly values: Field;
  readonly maxItems: number;
}

export interface ObjectField extends FieldFacts {
  readonly type: 'object';
  readonly fields: Readonly<Record<string, Field>>;
  /** Exactly one of these must be given. */
  readonly oneOf?: readonly string[];
  /** What it costs to take the whole away, when that is more than its fields cost. */
  readonly removal?: Cost;
  /** The field of an entry in which its author says what a change of it costs. */
  readonly costFrom?: string;
}

export type Field =
  | TextField
  | ChoiceField
  | WholeField
  | NumberField
  | BooleanField
  | ScalarField
  | AnyField
  | ListField
  | MapField
  | ObjectField;

type RequiredKeys<F> = { [K in keyof F]: F[K] extends { required: true } ? K : never }[keyof F];

/** The TypeScript type of what a field holds. */
export type Held<F> = F extends { type: 'object'; fields: infer Fields }
  ? { readonly [K in RequiredKeys<Fields>]: Held<Fields[K]> } & {
      readonly [K in Exclude<keyof Fields, RequiredKeys<Fields>>]?: Held<Fields[K]>;
    }
  : F extends { type: 'map'; values: infer Values }
    ? Readonly<Record<string, Held<Values>>>
    : F extends { type: 'list'; items: infer Items }
      ? readonly Held<Items>[]
      : F extends { type: 'choice'; of: readonly (infer Choice)[] }
        ? Choice
        : F extends { type: 'text' }
          ? string
          : F extends { type: 'whole' | 'number' }
            ? number
            : F extends { type: 'boolean' }
              ? boolean
              : F extends { type: 'scalar' }
                ? string | number
                : Json;
