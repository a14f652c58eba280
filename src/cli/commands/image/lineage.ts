// Commands that show the lineage of a version.
import type { ResponseOf } from '../../../api/contract/types.ts';
import { lineageMermaid, lineageTree } from '../../../domain/lineage/text.ts';
import { recordArgument } from '../../input/find-version.ts';
import { list, show } from '../../run/builders.ts';
import { type CommandSpec, isSet, pageFlags } from '../../spec/command.ts';

const mermaidFlag = { mermaid: { description: 'Print the graph as Mermaid', field: false } } as const;
const versionName = ({ image, version }: { readonly image: string; readonly version: string }) =>
  `${image}:${version}`;

export const ancestors = show('listAncestors', {
  summary: 'Show the lineage of a version back to its first ancestor',
  details:
    'For each parent, shows whether its channel still points to it, and whether it is the newest usable version.',
  args: [recordArgument],
  flags: mermaidFlag,
  examples: [
    ['imago image ancestors node:production', 'Show the recipe, lock, build, moves, pools, and captures'],
    ['imago image ancestors node:1.34.2 --mermaid', 'Print it as a drawing'],
  ],
  name: ({ items }) => items.map(versionName).join('\n'),
  lines: ({ graph, items }, invocation) =>
    isSet(invocation, 'mermaid')
      ? [lineageMermaid(graph).trimEnd()]
      : [...lineageTree(graph), ...items.flatMap(parentLines)],
});

function parentLines({
  image,
  version,
  parent,
}: ResponseOf<'listAncestors'>['items'][number]): readonly string[] {
  if (parent === undefined) return [];
  const { channel, newest } = parent;
  return [
    `the parent of ${image}:${version}:`,
    ...(channel === undefined
      ? []
      : [`  ${channel.name} ${channel.pointsAtParent ? 'still points to it' : 'no longer points to it'}`]),
    `  ${newest ? 'no newer version is usable' : 'a newer version is usable'}`,
  ];
}

export const descendants: CommandSpec = {
  summary: 'List everything derived from a version, including pools and nodes',
  args: [recordArgument],
  flags: {
    tree: { description: 'Print the graph, with moves, pools, nodes, and captures', field: false },
    ...mermaidFlag,
  },
  examples: [['imago image descendants node:1.34.2', 'List what a withdrawal would affect']],
  async run(invocation) {
    const { requestOf, tableColumns } = await import('../../run/run-command.ts');
    const { path } = await requestOf(invocation, 'listDescendants', descendants);
    const graph = isSet(invocation, 'tree') || isSet(invocation, 'mermaid') ? 'true' : 'false';
    const client = await invocation.client();
    const input = { path: path as { image: string; version: string }, query: { graph } } as const;
    const found = await client.call('listDescendants', input);
    const drawn = found.graph;
    if (drawn === undefined) {
      invocation.out.list(found, versionName, {
        version: versionName,
        ...tableColumns<(typeof found.items)[number]>([
          'state',
          ['origin', ({ origin }) => origin.kind],
          'nodes',
          'pools',
          ['created', 'createdAt'],
        ]),
      });
      return;
    }
    invocation.out.thing(found, found.items.map(versionName).join('\n'), () =>
      isSet(invocation, 'mermaid') ? [lineageMermaid(drawn).trimEnd()] : lineageTree(drawn),
    );
  },
};

export const nodes = list('listVersionNodes', {
  summary: 'List live nodes that run a version or one derived from it',
  args: [recordArgument],
  flags: {
    exact: { description: 'List only nodes that run this exact version', field: false },
    ...pageFlags,
  },
  examples: [['imago image nodes node:1.34.2', 'List the nodes that a broken version affects']],
  more: (invocation) => ({ descendants: !isSet(invocation, 'exact') }),
  columns: ['name', 'pool', ['version', versionName], 'reference', ['created', 'at']],
});
