// Where the channels of an image point.
import { simulatedText } from '../../output/simulated-text.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List where the channels of an image point',
  args: [{ name: 'NAME', what: 'the image', completes: 'image' }],
  examples: [['imago channel list node', 'staging, production, latest']],
  async run(invocation) {
    const client = await invocation.client();
    const channels = await client.call('listChannels', { path: { image: argument(invocation, 'NAME') } });
    invocation.out.list(channels, (item) => `${item.image}:${item.name}`, {
      channel: (item) => item.name,
      version: (item) => item.version,
      takes: (item) =>
        item.managed ? 'managed: newest available' : item.forTesting ? 'candidates too' : 'available only',
      simulated: simulatedText,
      public: (item) => (item.public ? 'public' : undefined),
      move: (item) => item.move?.toString(),
      moved: (item) => item.movedAt,
    });
  },
};
