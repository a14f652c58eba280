// End a key that leaked.

import { confirm } from '../../run/confirm.ts';
import { argument, type CommandSpec, isSet, requiredText, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Nothing that a key signed counts any more',
  details:
    'For a key that leaked; to change keys in good order, make a new one. Sign what is still good anew.',
  args: [{ name: 'KEY', what: 'its id' }],
  flags: {
    reason: { what: 'why', value: 'TEXT', required: true },
    'dry-run': { what: 'say what would be done, and do nothing' },
    ...yesFlag,
  },
  examples: [['imago keys revoke 0123456789abcdef --reason "laptop was stolen"', 'asks first']],
  async run(invocation) {
    const client = await invocation.client();
    const input = {
      path: { key: argument(invocation, 'KEY') },
      body: { reason: requiredText(invocation, 'reason') },
    };
    const { plan } = await client.plan('revokeKey', input);
    if (isSet(invocation, 'dry-run')) {
      invocation.out.thing({ dryRun: true, plan }, input.path.key, () => plan);
      return;
    }
    if (!isSet(invocation, 'yes')) await confirm(invocation, plan);
    const key = await client.call('revokeKey', input);
    invocation.out.thing(key, key.id, () => [`Key ${key.id} is revoked: ${key.revoked}`]);
  },
};
