// Keep a version from being deleted.
import { argument, type CommandSpec, isSet, requiredText } from '../command.ts';
import { exactVersion } from '../exact-version.ts';

export const command: CommandSpec = {
  summary: 'Keep a version from being deleted, whatever the rules say',
  args: [{ name: 'IMAGE', what: 'NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' }],
  flags: {
    reason: { what: 'why it must stay', value: 'TEXT', required: true },
    'dry-run': { what: 'say what would be done, and do nothing' },
  },
  examples: [['imago image hold node:1.34.2 --reason "audit 2026"', 'prune leaves it alone']],
  async run(invocation) {
    const client = await invocation.client();
    const path = await exactVersion(client, argument(invocation, 'IMAGE'));
    const input = { path, body: { reason: requiredText(invocation, 'reason') } };
    if (isSet(invocation, 'dry-run')) {
      const plan = await client.plan('holdVersion', input);
      invocation.out.thing(plan, plan.subject, () => ['Would do, and nothing was written:', ...plan.plan]);
      return;
    }
    const held = await client.call('holdVersion', input);
    invocation.out.thing(held, `${held.image}:${held.version}`, () => [
      `${held.image}:${held.version} is held: ${held.reason}`,
    ]);
  },
};
