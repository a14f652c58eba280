// What became of the deliveries of a webhook.
import { argument, type CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'Show what became of the deliveries of a webhook, newest first',
  details: 'Deliveries that ended are kept for 30 days.',
  args: [{ name: 'NAME', what: 'the webhook' }],
  flags: pageFlags,
  examples: [['imago webhook log ci', 'did it arrive?']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { webhook: argument(invocation, 'NAME') };
    const page = await client.call('listDeliveries', { path, query: pageQuery(invocation) });
    invocation.out.list(page, (item) => String(item.id), {
      event: (item) => String(item.event),
      type: (item) => item.type,
      state: (item) => item.state,
      tries: (item) => String(item.attempts),
      status: (item) => (item.status === undefined ? undefined : String(item.status)),
      next: (item) => item.nextAt,
      error: (item) => item.error,
      at: (item) => item.at,
    });
  },
};
