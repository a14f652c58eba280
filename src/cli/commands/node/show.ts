// One node.

import { facts } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Show one node, also when it is gone',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  examples: [['imago node show web-0', 'one node']],
  async run(invocation) {
    const client = await invocation.client();
    const node = await client.call('showNode', { path: { node: argument(invocation, 'NODE') } });
    const { schedulable, forwards, error, ...rest } = node;
    const ports = forwards?.map(({ guestPort, hostPort }) => `127.0.0.1:${hostPort} to ${guestPort}`);
    invocation.out.thing(node, node.name, () =>
      facts({
        ...rest,
        ports: ports?.join(', '),
        schedulable: schedulable ? 'yes' : 'no',
        error: error === undefined ? undefined : `${error.message} (${error.code})`,
      }),
    );
  },
};
