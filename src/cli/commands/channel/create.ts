// Add a channel to an image.

import { splitChannel } from '../../input/split-channel.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, isSet, text } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Add a channel to an image',
  details: 'Channels stand in an order: versions are promoted from the earlier to the later ones.',
  args: [{ name: 'CHANNEL', what: 'NAME:CHANNEL', completes: 'image' }],
  flags: {
    after: { what: 'the channel that it stands behind (default: the last)', value: 'CHANNEL' },
    testing: { what: 'take candidates too' },
    public: { what: 'everyone may see it: restricted versions never reach it' },
    ...writeFlags,
  },
  examples: [['imago channel create node:canary --after staging', 'between staging and production']],
  async run(invocation) {
    const { image, channel } = splitChannel(argument(invocation, 'CHANNEL'));
    const after = text(invocation, 'after');
    await runWrite(invocation, {
      endpoint: 'createChannel',
      input: {
        path: { image },
        body: {
          name: channel,
          forTesting: isSet(invocation, 'testing'),
          public: isSet(invocation, 'public'),
          ...(after === undefined ? {} : { after }),
        },
      },
      name: () => `${image}:${channel}`,
      lines: () => [`${image}:${channel} was added`],
    });
  },
};
