// Which latest was this made from?
import { argument, type CommandSpec } from '../command.ts';
import { facts } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Tell which version a node was made from, and which move of the channel answered',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  examples: [['imago node which web-0', 'which latest was this machine made with?']],
  async run(invocation) {
    const client = await invocation.client();
    const which = await client.call('whichNode', { path: { node: argument(invocation, 'NODE') } });
    invocation.out.thing(which, `${which.image}@${which.digest}`, () => facts({ ...which }));
  },
};
