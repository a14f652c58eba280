// Every policy that was ever in force.
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List every policy that was ever in force, newest first',
  flags: pageFlags,
  examples: [['imago policy history', 'who changed the gates, and why']],
  async run(invocation) {
    const client = await invocation.client();
    const policies = await client.call('listPolicies', { query: pageQuery(invocation) });
    invocation.out.list(policies, (item) => item.digest, {
      policy: (item) => String(item.id),
      at: (item) => item.at,
      by: (item) => item.by,
      why: (item) => item.why,
      digest: (item) => item.digest,
    });
  },
};
