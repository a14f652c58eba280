// Everything made from a version.
import { lineageMermaid, lineageTree } from '../../../domain/lineage/text.ts';
import { exactVersion } from '../../input/exact-version.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List everything made from a version, with its nodes and pools',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  flags: {
    tree: { what: 'print the graph: moves, pools, nodes and captures in between' },
    mermaid: { what: 'print the graph as Mermaid, for a document' },
  },
  examples: [['imago image descendants node:1.34.2', 'what a withdrawal of it would take along']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    const drawn = isSet(invocation, 'tree') || isSet(invocation, 'mermaid');
    const found = await client.call('listDescendants', { path, query: { graph: drawn ? 'true' : 'false' } });
    if (found.graph === undefined) {
      invocation.out.list(found, (item) => `${item.image}:${item.version}`, {
        version: (item) => `${item.image}:${item.version}`,
        state: (item) => item.state,
        origin: (item) => item.origin.kind,
        nodes: (item) => String(item.nodes),
        pools: (item) => (item.pools.length === 0 ? undefined : item.pools.join(' ')),
        created: (item) => item.createdAt,
      });
      return;
    }
    const { graph } = found;
    invocation.out.thing(found, found.items.map((item) => `${item.image}:${item.version}`).join('\n'), () =>
      isSet(invocation, 'mermaid') ? [lineageMermaid(graph).trimEnd()] : lineageTree(graph),
    );
  },
};
