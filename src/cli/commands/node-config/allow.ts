// Let a node go on with the config that it waits with.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';
import { configLines } from './show.ts';

export const command: CommandSpec = {
  summary: 'Let a node apply the config that it waits with',
  details:
    'For a node that you have drained, or whose services may restart now. It says nothing about any later config.',
  args: [{ name: 'NODE', what: 'the node', completes: 'node' }],
  flags: writeFlags,
  examples: [['imago node config allow web-000001', 'it is drained: go on']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'allowNodeConfig',
      input: { path: { node: argument(invocation, 'NODE') } },
      name: ({ node }) => node,
      lines: configLines,
    });
  },
};
