// Nodes of one pool or of all.
import { type CommandSpec, text } from '../../spec/command.ts';
import { pageFlags, pageQuery } from '../../spec/paging.ts';

export const command: CommandSpec = {
  summary: 'List nodes, of one pool or of all',
  flags: { pool: { what: 'only this pool', value: 'POOL', completes: 'pool' }, ...pageFlags },
  examples: [
    ['imago node list --pool web', 'the nodes of one pool'],
    ['imago node list -o name', 'names alone, for a script'],
  ],
  async run(invocation) {
    const client = await invocation.client();
    const pool = text(invocation, 'pool');
    const query = { ...pageQuery(invocation), ...(pool === undefined ? {} : { pool }) };
    invocation.out.list(await client.call('listNodes', { query }), (item) => item.name, {
      name: (item) => item.name,
      pool: (item) => item.pool,
      provider: (item) => item.provider,
      power: (item) => item.power,
      state: (item) => item.state,
      schedulable: (item) => (item.schedulable ? 'yes' : 'no'),
      image: (item) => `${item.image}:${item.version}`,
      reference: (item) => item.reference,
    });
  },
};
