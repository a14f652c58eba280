// Make a signing key.

import { facts } from '../../output/table.ts';
import { type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Make a key that versions are signed with from now on',
  details:
    'Making another one is how keys are rotated: those before it sign nothing new, and what they signed still ' +
    'counts. The private part stays in the state folder, encrypted when IMAGO_KEY_PASSPHRASE is set for the daemon.',
  flags: { 'dry-run': { what: 'say what would be done, and do nothing' } },
  examples: [['imago keys create', 'the first key, or the next one']],
  async run(invocation) {
    const client = await invocation.client();
    if (isSet(invocation, 'dry-run')) {
      const plan = await client.plan('createKey');
      invocation.out.thing(plan, plan.subject, () => plan.plan);
      return;
    }
    const key = await client.call('createKey');
    invocation.out.thing(key, key.id, () => [
      ...facts({ id: key.id, 'signs since': key.validFrom }),
      key.publicKey.trimEnd(),
    ]);
  },
};
