// All pools.
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List pools',
  flags: pageFlags,
  examples: [['imago pool list', 'all pools']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(
      await client.call('listPools', { query: pageQuery(invocation) }),
      (item) => item.name,
      {
        name: (item) => item.name,
        provider: (item) => item.provider,
        nodes: (item) => item.capacity?.toString(),
        state: (item) => item.state,
        image: (item) => `${item.image}:${item.version}`,
        follows: (item) => item.follows,
      },
    );
  },
};
