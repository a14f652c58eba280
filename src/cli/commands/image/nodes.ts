// Which nodes run anything made from a version.

import { exactVersion } from '../../input/exact-version.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List the live nodes that run a version, or anything made from it',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  flags: { exact: { what: 'only nodes of this very version' }, ...pageFlags },
  examples: [['imago image nodes node:1.34.2', 'who is concerned when it is broken']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    const descendants = isSet(invocation, 'exact') ? 'false' : 'true';
    const nodes = await client.call('listVersionNodes', {
      path,
      query: { ...pageQuery(invocation), descendants },
    });
    invocation.out.list(nodes, (item) => item.name, {
      name: (item) => item.name,
      pool: (item) => item.pool,
      version: (item) => `${item.image}:${item.version}`,
      reference: (item) => item.reference,
      made: (item) => item.at,
    });
  },
};
