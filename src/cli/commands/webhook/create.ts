// Tell someone of what happens.

import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, isSet, requiredText, text, texts } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Tell someone of what happens from now on',
  details:
    'Events are sent as CloudEvents, signed as Standard Webhooks has it. The secret is shown this once. A delivery that fails is tried again for about three days.',
  args: [{ name: 'NAME', what: 'the name of the webhook' }],
  flags: {
    url: { what: 'where to send it', value: 'URL', required: true },
    event: {
      what: 'a kind of event, e.g. channel.moved (default: each move, withdrawal and deadline); again for more',
      value: 'KIND',
      repeated: true,
    },
    image: { what: 'only what concerns this image', value: 'NAME', completes: 'image' },
    'allow-private': { what: 'allow private addresses, and plain HTTP' },
    ...writeFlags,
  },
  examples: [
    [
      'imago webhook create ci --url https://ci.example.com/hooks/imago --event channel.moved',
      'start a pipeline',
    ],
  ],
  async run(invocation) {
    const image = text(invocation, 'image');
    await runWrite(invocation, {
      endpoint: 'createWebhook',
      input: {
        body: {
          name: argument(invocation, 'NAME'),
          url: requiredText(invocation, 'url'),
          events: [...texts(invocation, 'event')],
          allowPrivate: isSet(invocation, 'allow-private'),
          ...(image && { image }),
        },
      },
      name: ({ name }) => name,
      lines: ({ name, url, secret }) => [
        `Webhook ${name} tells ${url}`,
        `Its secret, shown this once: ${secret}`,
      ],
    });
  },
};
