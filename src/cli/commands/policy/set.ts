// Put a policy in force.

import { readText } from '../../input/read-text.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Put a policy in force',
  details: 'Every policy that was ever in force is kept, with who set it and why.',
  args: [{ name: 'FILE', what: 'the policy', completes: 'file' }],
  flags: { why: { what: 'the reason; kept for ever', value: 'TEXT', required: true }, ...writeFlags },
  examples: [['imago policy set policy.yaml --why "two approvals from now on"', 'for all images']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const body = { text: await readText(file), fileName: file, why: requiredText(invocation, 'why') };
    await runWrite(invocation, {
      endpoint: 'setPolicy',
      input: { body },
      name: ({ digest }) => digest,
      lines: ({ id, digest }) => [`Policy ${id} is in force (${digest})`],
    });
  },
};
