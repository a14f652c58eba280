// The exact version behind a reference.
import { argument, type CommandSpec } from '../command.ts';
import { facts } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Tell the exact version and digest behind a reference',
  args: [
    { name: 'IMAGE', what: 'NAME, NAME:VERSION, NAME:CHANNEL or NAME@sha256:DIGEST', completes: 'image' },
  ],
  examples: [['imago resolve node:production --json', 'pin what production is now']],
  async run(invocation) {
    const client = await invocation.client();
    const found = await client.call('resolve', { query: { reference: argument(invocation, 'IMAGE') } });
    invocation.out.thing(found, `${found.image}@${found.digest}`, () => facts({ ...found }));
  },
};
