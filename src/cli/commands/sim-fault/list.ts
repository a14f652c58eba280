// Faults that wait in the simulated provider.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List the faults that were ordered',
  examples: [['imago sim fault list', 'what will go wrong']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listFaults'), (item) => String(item.id), {
      id: (item) => String(item.id),
      call: (item) => item.call,
      kind: (item) => item.kind,
      name: (item) => item.name,
      after: (item) => String(item.after ?? 0),
      struck: (item) => `${item.hits} of ${item.count ?? 1}`,
    });
  },
};
