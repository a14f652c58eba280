// Every move of a channel.
import { argument, type CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List every move of the channels of an image, newest first',
  details:
    'Moves are kept for ever, also when channel and version are gone. `overridden` names the gates that an admin overrode; what every gate said is in --json.',
  args: [{ name: 'IMAGE', what: 'NAME, or NAME:CHANNEL for one channel', completes: 'image' }],
  flags: pageFlags,
  examples: [['imago channel history node:production', 'what production was, and when']],
  async run(invocation) {
    const client = await invocation.client();
    const [image = '', channel] = argument(invocation, 'IMAGE').split(':');
    const query = { ...pageQuery(invocation), ...(channel === undefined ? {} : { channel }) };
    const moves = await client.call('listMoves', { path: { image }, query });
    invocation.out.list(moves, (item) => String(item.id), {
      move: (item) => String(item.id),
      at: (item) => item.at,
      channel: (item) => item.channel,
      from: (item) => item.from,
      to: (item) => item.to,
      by: (item) => item.by,
      why: (item) => item.why,
      overridden: (item) => item.policy?.override?.gates.join(', '),
    });
  },
};
