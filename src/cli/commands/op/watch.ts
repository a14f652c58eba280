// Follow an operation to its end.

import { followOperation } from '../../run/follow-operation.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Follow an operation to its end',
  details: 'Goes on when the daemon goes away and comes back. Ctrl-C stops watching, not the operation.',
  args: [{ name: 'OPERATION', what: 'its id', completes: 'operation' }],
  examples: [['imago op watch ID', 'progress, step by step']],
  async run(invocation) {
    const client = await invocation.client();
    const operation = await followOperation(invocation, client, argument(invocation, 'OPERATION'));
    invocation.out.thing(operation, operation.id, () => [
      `${operation.kind} of ${operation.subject} ${operation.state}`,
    ]);
  },
};
