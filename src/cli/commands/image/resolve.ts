// Resolves an image reference.
import { buffer } from 'node:stream/consumers';
import type { Client } from '../../../api/client/client.ts';
import type { ResponseOf } from '../../../api/contract/types.ts';
import { azurePlace, imageReference, imageTools, requireJoinable } from '../../../domain/azure/reference.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { architectures, operatingSystems } from '../../../domain/image/platform.ts';
import { isUsable } from '../../../domain/image/version-state.ts';
import { orList } from '../../../domain/value/suggest.ts';
import { referenceArgument, type VersionPath } from '../../input/find-version.ts';
import { keyValueLines } from '../../output/table.ts';
import { show } from '../../run/builders.ts';
import type { ShowSpec } from '../../spec/call.ts';
import { type CommandSpec, isSet, text } from '../../spec/command.ts';

const spec = {
  details:
    'A withdrawn version is resolved too, because nodes can still run it: the output has its state, the reason, and the nearest usable versions. To create nodes from the result, pass --usable.',
  args: [{ ...referenceArgument, optional: true }],
  flags: {
    os: { description: 'Without IMAGE: operating system', value: 'OS', choices: operatingSystems },
    arch: { description: 'Without IMAGE: architecture', value: 'ARCH', choices: architectures },
    size: {
      description: 'Require that an Azure machine of this size can start the image',
      value: 'SIZE',
    },
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
    [
      'imago resolve --kubernetes 1.36 --os linux --size Standard_D4s_v5 --region westeurope',
      'Choose an image that such a machine starts, and say why',
    ],
    ['imago resolve node:production --for bicep', 'Print the image reference for a template'],
  ],
  check: (found, invocation) => {
    if (isSet(invocation, 'usable')) requireUsable(found);
  },
  name: ({ image, digest }) => `${image}@${digest}`,
  lines: ({ nearest, simulated, why, ...found }) =>
    keyValueLines({
      ...{ ...found, simulated, why: why?.join(' ') },
      nearest: nearest && (nearest.join(', ') || 'none is usable'),
    }),
} satisfies ShowSpec<'resolve'>;

export const command: CommandSpec = {
  ...show('resolve', spec),
  async run(invocation) {
    const tool = imageTools.find((one) => one === text(invocation, 'for'));
    if (tool === undefined) return show('resolve', spec).run(invocation);
    const client = await invocation.client();
    const { items } = await client.call('listSettings', {});
    if (tool === 'capz') {
      const asked = ['kubernetes', 'os', 'arch', 'size', 'region'].map((name) => [
        name,
        text(invocation, name),
      ]);
      const query = { ...Object.fromEntries(asked), reference: invocation.args.IMAGE };
      const { image, version } = await client.call('resolve', { query });
      const path = { image, version };
      requireJoinable(`${path.image}:${path.version}`, await packagesOf(client, path, invocation.signal));
    }
    const place = azurePlace(Object.fromEntries(items.map(({ name, effective }) => [name, effective])));
    await show('resolve', {
      ...spec,
      value: (found) => ({ ...found, ...imageReference(tool, place, found) }),
      lines: (found) => imageReference(tool, place, found).text.split('\n'),
    }).run(invocation);
  },
};

/** The names of everything in the SBOM. */
async function packagesOf(
  client: Client,
  version: VersionPath,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = { ...version, record: 'cyclonedx' } as const;
  const { content } = await client.download('readRecord', { path }, { signal });
  const { components = [] } = JSON.parse((await buffer(content)).toString('utf8')) as {
    readonly components?: readonly { readonly name: string }[];
  };
  return components.map(({ name }) => name);
}

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
