// All signing keys.
import type { CommandSpec } from '../command.ts';

export const command: CommandSpec = {
  summary: 'List signing keys, oldest first',
  examples: [['imago keys list', 'which one signs, and which ever did']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listKeys'), (key) => key.id, {
      id: (key) => key.id,
      state: (key) => (key.revoked !== undefined ? 'revoked' : key.signs ? 'signs' : 'ended'),
      from: (key) => key.validFrom,
      until: (key) => key.validUntil,
      reason: (key) => key.revoked,
    });
  },
};
