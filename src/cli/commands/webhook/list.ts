// All webhooks.
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List who is told of what',
  flags: pageFlags,
  examples: [['imago webhook list', 'who hears of moves and withdrawals']],
  async run(invocation) {
    const client = await invocation.client();
    const page = await client.call('listWebhooks', { query: pageQuery(invocation) });
    invocation.out.list(page, (item) => item.name, {
      name: (item) => item.name,
      state: (item) => item.state,
      url: (item) => item.url,
      image: (item) => item.image,
      events: (item) => item.events.join(', '),
    });
  },
};
