// All galleries that Imago was told of.
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List the galleries that Imago was told of',
  examples: [['imago gallery list', 'where versions go']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listGalleries'), (item) => item.name, {
      name: (item) => item.name,
      provider: (item) => item.provider,
      place: (item) => item.place,
      channels: (item) => item.channels.join(', '),
      regions: (item) => item.regions.map(({ region, replicas }) => `${region}=${replicas}`).join(', '),
      public: (item) => (item.public ? 'yes' : 'no'),
    });
  },
};
