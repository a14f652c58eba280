// What an image can do with a node config, and what a config needs. An image that lacks what a config `requires`
// refuses the whole document, loudly, instead of dropping a setting in silence.
import { ImagoError } from '../error/imago-error.ts';
import { didYouMean } from '../value/suggest.ts';
import { isObject } from './check-field.ts';
import { describeFields } from './describe-fields.ts';
import type { Field } from './field.ts';
import { currentSchemaVersion, type NodeConfig, nodeConfigSchema, schemaRelease } from './schema.ts';

/** Where an image says what it can do. */
export const abilitiesPath = '/usr/lib/imago/abilities.json';

/** The content of that file. */
export interface ImageAbilities {
  /** Of the schema that its agent was made with. */
  readonly schema: string;
  /** The versions of the document that its agent reads. */
  readonly schemaVersions: readonly number[];
  readonly abilities: readonly string[];
}

/** Everything that the agent of this Imago can do. */
export function agentAbilities(): ImageAbilities {
  const names = describeFields().flatMap(({ ability }) => (ability === undefined ? [] : [ability]));
  return {
    schema: schemaRelease,
    schemaVersions: [currentSchemaVersion],
    abilities: [...new Set(names)].toSorted(),
  };
}

/** The abilities that the fields of a config need, sorted; rendering adds them to `requires`. */
export function neededAbilities(config: NodeConfig): readonly string[] {
  const found = new Set<string>();
  collect(nodeConfigSchema, config, found);
  return [...found].toSorted();
}

function collect(field: Field, value: unknown, into: Set<string>): void {
  if (value === undefined || isEmpty(value)) return;
  if (field.ability !== undefined) into.add(field.ability);
  if (field.type === 'list' && Array.isArray(value))
    for (const item of value) collect(field.items, item, into);
  if (!isObject(value)) return;
  if (field.type === 'map') for (const item of Object.values(value)) collect(field.values, item, into);
  if (field.type !== 'object') return;
  for (const [name, one] of Object.entries(field.fields)) collect(one, value[name], into);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** What of `requires` is missing. `versionsOf` gives the versions of a component that are on the image. */
export function missingAbilities(
  requires: readonly string[],
  offered: Pick<ImageAbilities, 'abilities'>,
  versionsOf: (component: string) => readonly string[],
): readonly string[] {
  return requires.filter((one) => {
    const [, component, version] = /^component:([^=]+)(?:=(.+))?$/.exec(one) ?? [];
    if (component === undefined) return !offered.abilities.includes(one);
    const versions = versionsOf(component);
    return version === undefined ? versions.length === 0 : !versions.includes(version);
  });
}

/** Throws `node-config-requires` with everything that is missing. */
export function requireAbilities(
  requires: readonly string[],
  offered: Pick<ImageAbilities, 'abilities'>,
  versionsOf: (component: string) => readonly string[],
): void {
  const missing = missingAbilities(requires, offered, versionsOf);
  const [first] = missing;
  if (first === undefined) return;
  const near = missing.length === 1 ? didYouMean(first, offered.abilities) : undefined;
  throw new ImagoError(
    'node-config-requires',
    `The config requires ${missing.join(', ')}, which this image does not have.`,
    { ...(near === undefined ? {} : { hint: near }), details: { missing } },
  );
}
