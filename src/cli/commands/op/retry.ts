// Run the same request again.

import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Run the same request again; what is so already is skipped',
  args: [{ name: 'OPERATION', what: 'its id', completes: 'operation' }],
  flags: { 'dry-run': operationFlags['dry-run'], 'no-wait': operationFlags['no-wait'] },
  examples: [['imago op retry ID', 'a new operation of the same request']],
  async run(invocation) {
    await runOperation(invocation, {
      endpoint: 'retryOperation',
      input: { path: { operation: argument(invocation, 'OPERATION') } },
      name: (result) => String(result.name ?? result.image ?? ''),
      lines: (result) => [JSON.stringify(result)],
    });
  },
};
