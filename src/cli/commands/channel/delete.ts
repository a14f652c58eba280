// Take a channel away.

import { splitChannel } from '../../input/split-channel.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, requiredText } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Take a channel away; its moves are kept',
  args: [{ name: 'CHANNEL', what: 'NAME:CHANNEL', completes: 'image' }],
  flags: { why: { what: 'the reason; kept for ever', value: 'TEXT', required: true }, ...writeFlags },
  examples: [['imago channel delete node:canary --why "not used any more"', 'its history stays']],
  async run(invocation) {
    const { image, channel } = splitChannel(argument(invocation, 'CHANNEL'));
    await runWrite(invocation, {
      endpoint: 'deleteChannel',
      input: { path: { image, channel }, query: { why: requiredText(invocation, 'why') } },
      name: () => `${image}:${channel}`,
      lines: () => [`${image}:${channel} is gone; see \`imago channel history ${image}:${channel}\``],
    });
  },
};
