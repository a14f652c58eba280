// Change how many nodes a pool has.

import { noDrain } from '../../../domain/pool/pool.ts';
import { operationFlags, runOperation } from '../../run/run-operation.ts';
import {
  argument,
  type CommandSpec,
  destructiveFlags,
  readCount,
  readOptionalCount,
} from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Change how many nodes a pool has',
  details: `Removing nodes needs confirmation. ${noDrain}`,
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  flags: {
    nodes: { what: 'how many nodes', value: 'N', required: true },
    ...destructiveFlags('the pool has this many nodes now', 'N'),
    ...operationFlags,
  },
  examples: [['imago pool scale web --nodes 5', 'five nodes']],
  async run(invocation) {
    const pool = argument(invocation, 'POOL');
    const capacity = readCount(invocation, 'nodes');
    const client = await invocation.client();
    const { capacity: now } = await client.call('showPool', { path: { pool } });
    const removes = now !== undefined && capacity < now;
    const expect = readOptionalCount(invocation, 'expect') ?? (removes ? now : undefined);
    await runOperation(invocation, {
      endpoint: 'scalePool',
      input: { path: { pool }, body: { capacity, ...(expect === undefined ? {} : { expect }) } },
      irreversible: removes,
      name: (result) => String(result.name),
      lines: (result) => [`Pool ${result.name} has ${result.nodes} nodes`],
    });
  },
};
