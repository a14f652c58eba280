// Resolves an image reference.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { azurePlace, imageReference, imageTools } from '../../../domain/azure/reference.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { isUsable } from '../../../domain/image/version-state.ts';
import { orList } from '../../../domain/value/suggest.ts';
import { referenceArgument } from '../../input/find-version.ts';
import { keyValueLines } from '../../output/table.ts';
import { show } from '../../run/builders.ts';
import type { ShowSpec } from '../../spec/call.ts';
import { type CommandSpec, isSet, text } from '../../spec/command.ts';

const spec = {
  details:
    'A withdrawn version is resolved too, because nodes can still run it: the output has its state, the reason, and the nearest usable versions. To create nodes from the result, pass --usable.',
  args: [referenceArgument],
  flags: {
    at: {
      description:
        'Resolve as of this time: 2026-03-03T15:00Z, or 2026-03-03 for the start of that day (UTC); the state is the current one',
      value: 'TIME',
    },
    kubernetes: {
      description: 'Require this Kubernetes version; with a bare NAME, select the best available version',
      value: 'VERSION',
    },
    region: { description: 'Require that the version is ready in this region', value: 'REGION' },
    for: {
      description: 'Print the reference to the copy in Azure, as this tool takes it',
      value: 'TOOL',
      choices: imageTools,
      field: false,
    },
    usable: { description: 'Fail with exit code 4 if the version is withdrawn or deleted', field: false },
  },
  examples: [
    ['imago resolve node:production --json', 'Pin the version in production'],
    ['imago resolve node:production --at 2026-03-03', 'Show what production was at the start of 3 March'],
    ['imago resolve node:1.34.2 --usable', 'Resolve a version unless it was withdrawn'],
    ['imago resolve node --kubernetes 1.34', 'Select the best available version for Kubernetes 1.34'],
    ['imago resolve node:production --for bicep', 'Print the image reference for a template'],
  ],
  check: (found, invocation) => {
    if (isSet(invocation, 'usable')) requireUsable(found);
  },
  name: ({ image, digest }) => `${image}@${digest}`,
  lines: ({ nearest, simulated, ...found }) =>
    keyValueLines({ ...found, simulated, nearest: nearest && (nearest.join(', ') || 'none is usable') }),
} satisfies ShowSpec<'resolve'>;

export const command: CommandSpec = {
  ...show('resolve', spec),
  async run(invocation) {
    const tool = imageTools.find((one) => one === text(invocation, 'for'));
    if (tool === undefined) return show('resolve', spec).run(invocation);
    const { items } = await (await invocation.client()).call('listSettings', {});
    const place = azurePlace(Object.fromEntries(items.map(({ name, effective }) => [name, effective])));
    await show('resolve', {
      ...spec,
      value: (found) => ({ ...found, ...imageReference(tool, place, found) }),
      lines: (found) => imageReference(tool, place, found).text.split('\n'),
    }).run(invocation);
  },
};

function requireUsable({ image, version, state, reason, nearest = [] }: ResponseOf<'resolve'>): void {
  if (isUsable(state)) return;
  const near = nearest.map((number) => `\`${image}:${number}\``);
  throw new ImagoError(
    'version-withdrawn',
    `${image}:${version} is ${state}${reason === undefined ? '.' : `: ${reason}`}`,
    {
      hint:
        near.length === 0
          ? `Run \`imago image list ${image}\`.`
          : `The nearest usable versions: ${orList(near)}.`,
    },
  );
}
