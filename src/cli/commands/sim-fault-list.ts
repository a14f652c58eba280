// Faults that wait in the simulated provider.
import type { CommandSpec } from '../../cli/command.ts';
import { pageFlags, pageQuery } from '../paging.ts';

export const command: CommandSpec = {
  summary: 'List the faults that were ordered',
  flags: pageFlags,
  examples: [['imago sim fault list', 'what will go wrong']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(
      await client.call('listFaults', { query: pageQuery(invocation) }),
      (item) => item.id,
      {
        id: (item) => item.id,
        call: (item) => item.call,
        mode: (item) => item.mode,
        name: (item) => item.name,
        skip: (item) => String(item.skip),
        struck: (item) => `${item.struck} of ${item.times}`,
      },
    );
  },
};
