// Check a policy file.

import { readText } from '../../input/read-text.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Check a policy file, and show which channels lose or gain gates',
  args: [{ name: 'FILE', what: 'the policy', completes: 'file' }],
  examples: [['imago policy check policy.yaml', 'every mistake with its line']],
  async run(invocation) {
    const file = argument(invocation, 'FILE');
    const client = await invocation.client();
    const body = { text: await readText(file), fileName: file, why: 'check' };
    const plan = await client.plan('setPolicy', { body });
    invocation.out.thing(plan, file, () => [`${file} is well formed.`, ...plan.plan]);
  },
};
