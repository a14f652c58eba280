// Sign a version.

import { findVersion, imageArgument } from '../../input/find-version.ts';
import { argument, type CommandSpec, isSet } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Sign a version with the key of now',
  details:
    'Builds sign by themselves. This is for versions from before there was a key, or whose key was revoked.',
  args: [imageArgument],
  flags: { 'dry-run': { what: 'say what would be done, and do nothing' } },
  examples: [['imago image sign node:production', 'after a key was revoked']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await findVersion(client, argument(invocation, 'IMAGE'));
    if (isSet(invocation, 'dry-run')) {
      const plan = await client.plan('signVersion', { path });
      invocation.out.thing(plan, plan.subject, () => plan.plan);
      return;
    }
    const signature = await client.call('signVersion', { path });
    const name = `${path.image}:${path.version}`;
    invocation.out.thing({ ...path, ...signature }, name, () => [
      `${name} is signed by key ${signature.key}`,
    ]);
  },
};
