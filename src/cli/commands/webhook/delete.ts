// End a webhook.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, yesFlag } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'End a webhook, with its log',
  args: [{ name: 'NAME', what: 'the webhook' }],
  flags: { ...yesFlag, ...writeFlags },
  examples: [['imago webhook delete ci', 'asks first; it receives no more events']],
  async run(invocation) {
    await runWrite(invocation, {
      endpoint: 'deleteWebhook',
      input: { path: { webhook: argument(invocation, 'NAME') } },
      irreversible: true,
      name: ({ name }) => name,
      lines: ({ name }) => [`Webhook ${name} is ended`],
    });
  },
};
