// End a webhook.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End a webhook, with its log',
  args: [{ name: 'NAME', what: 'the webhook' }],
  flags: writeFlags,
  examples: [['imago webhook delete ci', 'it is told of nothing any more']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'deleteWebhook',
      input: { path: { webhook: argument(invocation, 'NAME') } },
      name: ({ name }) => name,
      lines: ({ name }) => [`Webhook ${name} is ended`],
    });
  },
};
