// The policy in force.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Print the policy in force',
  examples: [['imago policy show > policy.yaml', 'to change it']],
  async run(invocation) {
    const client = await invocation.client();
    const policy = await client.call('showPolicy', {});
    invocation.out.thing(policy, policy.digest, () => [policy.text.trimEnd()]);
  },
};
