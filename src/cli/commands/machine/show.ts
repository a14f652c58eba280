// One machine of no pool.

import { facts } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show one machine that belongs to no pool',
  details: '`imago node console`, `imago node timeline` and `imago node shell` take its name, too.',
  args: [{ name: 'MACHINE', what: 'the machine' }],
  examples: [['imago machine show test-4f1a-1', 'one machine']],
  async run(invocation) {
    const client = await invocation.client();
    const found = await client.call('showMachine', { path: { machine: argument(invocation, 'MACHINE') } });
    const { error, ...rest } = found;
    invocation.out.thing(found, found.name, () =>
      facts({ ...rest, error: error === undefined ? undefined : `${error.message} (${error.code})` }),
    );
  },
};
