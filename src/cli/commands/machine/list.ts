// All machines of no pool.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List the machines that belong to no pool',
  details: 'Those of tests that run, and those that a failed test left for a look.',
  examples: [['imago machine list', 'what is there beside the pools']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listMachines', {}), (item) => item.name, {
      name: (item) => item.name,
      provider: (item) => item.provider,
      state: (item) => item.state,
      power: (item) => item.power,
      image: (item) => `${item.image}:${item.version}`,
      firmware: (item) => item.firmware,
      created: (item) => item.createdAt,
    });
  },
};
