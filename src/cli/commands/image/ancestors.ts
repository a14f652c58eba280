// What a version was made from.
import type { AnswerOf } from '../../../api/contract/types.ts';
import { lineageMermaid, lineageTree } from '../../../domain/lineage/text.ts';
import { exactVersion } from '../../input/exact-version.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Tell what a version was made from, back to the first',
  details:
    'For each parent two facts are told: whether its channel still points at it, and whether it is the newest that can be used.',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  flags: { mermaid: { what: 'print the graph as Mermaid, for a document' } },
  examples: [
    ['imago image ancestors node:production', 'recipe, lock, build, moves, pools and captures behind it'],
    ['imago image ancestors node:1.34.2 --mermaid', 'the same as a drawing'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    const found = await client.call('listAncestors', { path });
    invocation.out.thing(found, found.items.map((item) => `${item.image}:${item.version}`).join('\n'), () =>
      isSet(invocation, 'mermaid')
        ? [lineageMermaid(found.graph).trimEnd()]
        : [...lineageTree(found.graph), ...found.items.flatMap(parentLines)],
    );
  },
};

type Item = AnswerOf<'listAncestors'>['items'][number];

function parentLines({ image, version, parent }: Item): readonly string[] {
  if (parent === undefined) return [];
  const { channel, newest } = parent;
  const where =
    channel === undefined
      ? []
      : [`  ${channel.name} ${channel.pointsAtParent ? 'still points at it' : 'has moved on since'}`];
  return [
    `the parent of ${image}:${version}:`,
    ...where,
    `  ${newest ? 'no newer one can be used' : 'a newer one can be used'}`,
  ];
}
