// Take a pool and its nodes away.

import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Delete a pool and all its nodes',
  details: 'Cannot be taken back. The record of what its nodes were made from stays.',
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  flags: { ...yesFlag, ...operationFlags },
  examples: [['imago pool delete web --yes', 'without being asked']],
  async run(invocation) {
    await runOperation(invocation, {
      endpoint: 'deletePool',
      input: { path: { pool: argument(invocation, 'POOL') } },
      irreversible: true,
      name: (result) => String(result.name),
      lines: (result) => [`Pool ${result.name} is gone`],
    });
  },
};
