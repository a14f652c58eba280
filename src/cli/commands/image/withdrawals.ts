// What was withdrawn, and how far it was followed.
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List withdrawals, with how many nodes still run what was taken out',
  args: [{ name: 'NAME', what: 'an image', optional: true, completes: 'image' }],
  flags: pageFlags,
  examples: [['imago image withdrawals', 'is anything broken still running?']],
  async run(invocation) {
    const client = await invocation.client();
    const image = invocation.args.NAME;
    const query = { ...pageQuery(invocation), ...(image === undefined ? {} : { image }) };
    const found = await client.call('listWithdrawals', { query });
    invocation.out.list(found, (item) => `${item.image}:${item.version}`, {
      version: (item) => `${item.image}:${item.version}`,
      state: ({ appliedAt, liftedAt }) =>
        liftedAt !== undefined ? 'lifted' : appliedAt === undefined ? 'planned' : 'in force',
      from: (item) => item.effectiveAt,
      versions: (item) => String(item.versions),
      nodes: (item) => String(item.nodes),
      by: (item) => item.by,
      reason: (item) => item.reason,
    });
  },
};
