// Delete a channel.

import { splitChannel } from '../../input/split-channel.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, destructiveFlags, requiredText, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Delete a channel; its moves are kept',
  args: [{ name: 'CHANNEL', what: 'NAME:CHANNEL', completes: 'image' }],
  flags: {
    why: { what: 'the reason, stored permanently', value: 'TEXT', required: true },
    ...destructiveFlags('the channel points at this version (`none`: it is empty)', 'VERSION'),
    ...writeFlags,
  },
  examples: [['imago channel delete node:canary --why "not used any more"', 'its history stays']],
  async run(invocation) {
    const { image, channel } = splitChannel(argument(invocation, 'CHANNEL'));
    const client = await invocation.client();
    const { items } = await client.call('listChannels', { path: { image } });
    const shown = items.find(({ name }) => name === channel)?.version ?? 'none';
    const expect = text(invocation, 'expect') ?? shown;
    await runWrite(invocation, {
      endpoint: 'deleteChannel',
      input: { path: { image, channel }, query: { why: requiredText(invocation, 'why'), expect } },
      irreversible: true,
      name: () => `${image}:${channel}`,
      lines: () => [`${image}:${channel} is deleted; see \`imago channel history ${image}:${channel}\``],
    });
  },
};
