// Change how many nodes a pool has.

import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, readCount } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Change how many nodes a pool has',
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  flags: { nodes: { what: 'how many nodes', value: 'N', required: true }, ...operationFlags },
  examples: [['imago pool scale web --nodes 5', 'five nodes']],
  async run(invocation) {
    await runOperation(invocation, {
      endpoint: 'scalePool',
      input: {
        path: { pool: argument(invocation, 'POOL') },
        body: { capacity: readCount(invocation, 'nodes') },
      },
      name: (result) => String(result.name),
      lines: (result) => [`Pool ${result.name} has ${result.nodes} nodes`],
    });
  },
};
