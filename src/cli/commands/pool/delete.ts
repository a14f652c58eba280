// Delete a pool and its nodes.

import { noDrain } from '../../../domain/pool/pool.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import { argument, type CommandSpec, destructiveFlags, readOptionalCount } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Delete a pool and all its nodes',
  details: `This cannot be undone. The record of what its nodes were made from is kept. ${noDrain}`,
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  flags: { ...destructiveFlags('the pool has this many nodes', 'N'), ...operationFlags },
  examples: [['imago pool delete web --expect 3 --yes', 'if it has three nodes, without a question']],
  async run(invocation) {
    const expect = readOptionalCount(invocation, 'expect');
    await runOperation(invocation, {
      endpoint: 'deletePool',
      input: {
        path: { pool: argument(invocation, 'POOL') },
        query: expect === undefined ? {} : { expect },
      },
      irreversible: true,
      name: (result) => String(result.name),
      lines: (result) => [`Pool ${result.name} is deleted`],
    });
  },
};
