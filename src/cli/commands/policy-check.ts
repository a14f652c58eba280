// Check a policy file.
import { argument, type CommandSpec } from '../command.ts';
import { readText } from '../read-text.ts';

export const command: CommandSpec = {
  summary: 'Check a policy file, and say what it would change',
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
