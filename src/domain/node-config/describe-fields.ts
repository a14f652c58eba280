// Every field of the node config with what holds for it, what it inherits included: for the docs, for
// `imago node config explain`, and for the list of abilities.
import type { Cost, Field } from './field.ts';
import { nodeConfigSchema } from './schema.ts';

export interface FieldDescription {
  /** `files[].path`, `runtime.mirrors.*[]`. */
  readonly path: string;
  readonly field: Field;
  readonly cost: Cost;
  /** The author of an entry may say another cost in this field of it. */
  readonly costFrom?: string;
  readonly since: string;
  readonly ability?: string;
}

const firstRelease = '1.0';

export function describeFields(): readonly FieldDescription[] {
  return describeChildren({
    path: '',
    field: nodeConfigSchema,
    cost: nodeConfigSchema.cost,
    since: firstRelease,
  });
}

/** What a change costs, in a word or two; nothing for an object whose fields say it themselves. */
export function costInWords({ path, field, cost, costFrom }: FieldDescription): string {
  if (costFrom !== undefined && !path.endsWith('[]')) return `its \`${costFrom}\``;
  if (field.type !== 'object' || field.cost !== undefined || path.endsWith('[]')) return cost;
  return field.removal === undefined ? '' : `${field.removal} when taken away`;
}

/** The field at a path as people write it: indices and keys may stand where `[]` and `*` do. */
export function findField(path: string): FieldDescription | undefined {
  const all = describeFields();
  const exact = all.find((one) => one.path === path);
  return exact ?? all.find((one) => pathPattern(one.path).test(path));
}

function pathPattern(path: string): RegExp {
  const pattern = path
    .replace(/[.[\]*]/g, (mark) => (mark === '*' ? '[*]' : `\\${mark}`))
    .replaceAll('\\[\\]', '(?:\\[[0-9]*\\])?')
    .replaceAll('\\.[*]', '(?:\\.[^.[]+|\\["[^"]+"\\])');
  return new RegExp(`^${pattern}$`);
}

function describeChildren(parent: FieldDescription): readonly FieldDescription[] {
  return childrenOf(parent.field).flatMap(([step, field]) => {
    const path = parent.path === '' ? step.replace(/^\./, '') : `${parent.path}${step}`;
    const ability = field.ability ?? parent.ability;
    const costFrom = field.type === 'object' ? (field.costFrom ?? parent.costFrom) : parent.costFrom;
    const described: FieldDescription = {
      path,
      field,
      cost: field.cost ?? parent.cost,
      since: field.since ?? parent.since,
      ...(ability === undefined ? {} : { ability }),
      ...(costFrom === undefined ? {} : { costFrom }),
    };
    return [described, ...describeChildren(described)];
  });
}

/** What stands below a field, with what its path adds. */
function childrenOf(field: Field): readonly (readonly [string, Field])[] {
  if (field.type === 'object') return Object.entries(field.fields).map(([name, one]) => [`.${name}`, one]);
  if (field.type === 'list') return [['[]', field.items]];
  return field.type === 'map' ? [['.*', field.values]] : [];
}
