// Commands for webhooks.
import { setTimeout as sleep } from 'node:timers/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { group, list, write } from '../run/builders.ts';
import { argument, type CommandSpec, dryRunFlag, pageFlags, readNumber } from '../spec/command.ts';

const webhookArgument = { name: 'WEBHOOK', description: 'Name of the webhook' };

const test: CommandSpec = {
  summary: 'Send a test event to a webhook, and wait for the response',
  details:
    'The event has the type imago.webhook.test. It is sent regardless of the events that the webhook asks for.',
  args: [webhookArgument],
  flags: dryRunFlag,
  examples: [['imago webhook test ci', 'Check the address, the certificate, and the receiver']],
  async run(invocation) {
    const client = await invocation.client();
    const path = { webhook: argument(invocation, 'WEBHOOK') };
    const { signal } = invocation;
    const newest = async () =>
      (await client.call('listDeliveries', { path, query: { limit: 100 } }, { signal })).items;
    const before = (await newest())[0]?.id ?? 0;
    const { proceeds } = await import('../run/run-command.ts');
    if (!(await proceeds(invocation, 'testWebhook', { path }))) return;
    await client.call('testWebhook', { path });
    for (;;) {
      const sent = (await newest()).find(({ id, type }) => id > before && type === 'webhook.test');
      if (sent !== undefined && sent.attempts > 0) {
        const { state, status, error } = sent;
        if (state !== 'delivered') {
          throw new ImagoError(
            'webhook-unanswered',
            `${path.webhook} did not accept the event: ${error ?? status}.`,
          );
        }
        invocation.out.thing(sent, String(sent.event), () => [
          `${path.webhook} accepted event ${sent.event} with ${status}`,
        ]);
        return;
      }
      await sleep(250, undefined, { signal });
    }
  },
};

export const command = group({
  create: write('createWebhook', {
    summary: 'Create a webhook',
    details:
      'Events are sent as CloudEvents and signed as in Standard Webhooks. The secret is shown once. Imago retries a failed delivery for about three days.',
    args: [{ name: 'NAME', description: 'Name of the webhook' }],
    flags: {
      url: { description: 'URL of the receiver', value: 'URL', required: true },
      event: {
        description: 'Event type, for example channel.moved (default: every move, withdrawal, and deadline)',
        value: 'TYPE',
        repeated: true,
        field: 'events',
      },
      image: { description: 'Send only events of this image', value: 'NAME', completes: 'image' },
      'allow-private': { description: 'Allow private addresses and plain HTTP' },
    },
    examples: [
      [
        'imago webhook create ci --url https://ci.example.com/hooks/imago --event channel.moved',
        'Start a pipeline when a channel moves',
      ],
    ],
    done: ({ name, url, secret }) => [
      `Webhook ${name} sends events to ${url}`,
      `Its secret, which is shown only once: ${secret}`,
    ],
  }),
  list: list('listWebhooks', {
    summary: 'List webhooks',
    flags: pageFlags,
    examples: [['imago webhook list', 'List who is notified of moves and withdrawals']],
    columns: ['name', 'state', 'url', 'image', 'events'],
  }),
  log: list('listDeliveries', {
    summary: 'Show the deliveries of a webhook, newest first',
    details: 'Finished deliveries are retained for 30 days.',
    args: [webhookArgument],
    flags: pageFlags,
    examples: [['imago webhook log ci', 'Check whether deliveries arrived']],
    columns: ['event', 'type', 'state', ['tries', 'attempts'], 'status', ['next', 'nextAt'], 'error', 'at'],
  }),
  resend: write('resendDeliveries', {
    summary: 'Resend failed deliveries of a webhook',
    details:
      'Resends all failed deliveries, or one event, even if it was delivered. The event keeps its id, so that the receiver can recognize a duplicate.',
    args: [webhookArgument],
    flags: {
      event: {
        description: 'Event number from `imago webhook log` (default: all that failed)',
        value: 'NUMBER',
        read: readNumber,
      },
    },
    examples: [['imago webhook resend ci', 'Resend after the receiver was down']],
    name: ({ deliveries }) => String(deliveries),
    done: ({ webhook, deliveries }) =>
      deliveries === 0
        ? `There is nothing to resend to ${webhook}`
        : `Resending ${deliveries} deliveries to ${webhook}`,
  }),
  test,
  delete: write('deleteWebhook', {
    summary: 'Delete a webhook and its delivery log',
    args: [webhookArgument],
    irreversible: true,
    examples: [['imago webhook delete ci', 'Stop notifying the receiver']],
    done: ({ name }) => `Webhook ${name} is deleted`,
  }),
});
