// Until when things are supported.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List until when Kubernetes versions and images are supported',
  examples: [['imago support list', 'the calendar, and what was set']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listSupport'), (item) => `${item.product} ${item.line}`, {
      product: (item) => item.product,
      line: (item) => item.line,
      ends: (item) => item.endsOn,
      source: (item) => item.source,
      by: (item) => item.by,
      note: (item) => item.note,
    });
  },
};
