// All tokens.
import type { CommandSpec } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List tokens, without their secrets',
  flags: pageFlags,
  examples: [['imago token list', 'who may do what, until when']],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(
      await client.call('listTokens', { query: pageQuery(invocation) }),
      (item) => item.id,
      {
        id: (item) => item.id,
        owner: (item) => item.owner,
        role: (item) => item.role,
        expires: (item) => item.expiresAt,
        revoked: (item) => item.revokedAt,
        used: (item) => item.lastUsedAt,
      },
    );
  },
};
