// Send deliveries of a webhook again.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, readCount, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Send again what did not arrive at a webhook',
  details:
    'All that failed, or one event, also one that arrived. It has the id that it had before, so that the other side can ' +
    'tell it from a new one.',
  args: [{ name: 'NAME', what: 'the webhook' }],
  flags: {
    event: { what: 'only this one, of `imago webhook log` (default: all that failed)', value: 'NUMBER' },
    ...writeFlags,
  },
  examples: [['imago webhook resend ci', 'after the other side was down for days']],
  async run(invocation) {
    const path = { webhook: argument(invocation, 'NAME') };
    const body = text(invocation, 'event') === undefined ? {} : { event: readCount(invocation, 'event') };
    await runWrite(invocation, {
      endpoint: 'resendDeliveries',
      input: { path, body },
      name: ({ deliveries }) => String(deliveries),
      lines: ({ webhook, deliveries }) => [
        deliveries === 0
          ? `Nothing is to be sent to ${webhook} again`
          : `${deliveries} on the way to ${webhook} again`,
      ],
    });
  },
};
