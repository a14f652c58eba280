// What a field of the node config does.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import {
  costInWords,
  describeFields,
  type FieldDescription,
  findField,
} from '../../../domain/node-config/describe-fields.ts';
import { describeValue } from '../../../domain/node-config/describe-value.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import { facts, table } from '../../output/table.ts';
import { argumentOr, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Explain a field of the node config: what it does, what it takes, what a change costs',
  details: 'Without a field, all of them. Needs no daemon.',
  args: [{ name: 'FIELD', what: 'a field, like kubelet.maxPods or files[].path', optional: true }],
  examples: [
    ['imago node config explain kubelet.maxPods', 'what does a change of it cost?'],
    ['imago node config explain', 'every field, with its cost'],
  ],
  async run(invocation) {
    const path = argumentOr(invocation, 'FIELD', '');
    if (path !== '') {
      explainOne(invocation.out, requireField(path));
      return;
    }
    const items = describeFields().map(plain);
    invocation.out.list({ items }, ({ path: name }) => name, {
      FIELD: (one) => one.path,
      COST: (one) => one.cost,
      TAKES: (one) => one.takes,
    });
  },
};

function requireField(path: string): FieldDescription {
  const found = findField(path);
  if (found !== undefined) return found;
  const known = describeFields().map((one) => one.path);
  const last = path.split('.').at(-1) ?? path;
  const sameEnd = known.filter((one) => one.split('.').at(-1)?.toLowerCase() === last.toLowerCase());
  throw new ImagoError('input-invalid', `The node config has no field ${path}.`, {
    hint:
      didYouMean(path, known) ??
      didYouMean(sameEnd[0] ?? '', sameEnd) ??
      'See `imago node config explain` for all of them.',
  });
}

function explainOne(out: Parameters<CommandSpec['run']>[0]['out'], described: FieldDescription): void {
  const { about, ...rest } = plain(described);
  const below = describeFields().filter(({ path }) => isDirectlyBelow(path, described.path));
  out.thing({ about, ...rest, fields: below.map(({ path }) => path) }, described.path, () => [
    about,
    '',
    ...facts(rest),
    ...(below.length === 0
      ? []
      : [
          '',
          ...table(
            below.map(plain),
            { FIELD: (one) => one.path, COST: (one) => one.cost, TAKES: (one) => one.takes },
            out.style,
          ),
        ]),
  ]);
}

function isDirectlyBelow(path: string, parent: string): boolean {
  if (!path.startsWith(parent)) return false;
  return /^(?:\[\]|\.\*)?(?:\.[A-Za-z0-9]+|\[\])$/.test(path.slice(parent.length));
}

function plain(described: FieldDescription) {
  const { path, field, since, ability } = described;
  const cost = costInWords(described);
  return {
    path,
    about: field.about,
    takes: describeValue(field),
    cost: cost === '' ? 'see its fields' : cost,
    since,
    ...(field.required === true ? { required: 'yes' } : {}),
    ...(field.default === undefined ? {} : { default: JSON.stringify(field.default) }),
    ...(field.secret === true ? { secret: 'yes: never shown, stored by its name' } : {}),
    ...(ability === undefined ? {} : { ability }),
    ...(field.example === undefined ? {} : { example: JSON.stringify(field.example) }),
  };
}
