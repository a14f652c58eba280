// All keys.

import { keyColumns } from '../../output/key-columns.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'List signing keys, and those of others that are trusted, oldest first',
  details: 'With --json, what another installation takes with `imago keys trust`.',
  examples: [
    ['imago keys list', 'which one signs, which ever did, and whom this installation trusts'],
    ['imago keys list --json > keys.json', 'for `imago keys trust keys.json` elsewhere'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    invocation.out.list(await client.call('listKeys'), (key) => key.id, keyColumns);
  },
};
