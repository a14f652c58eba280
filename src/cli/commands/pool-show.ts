// One pool.
import { argument, type CommandSpec } from '../command.ts';
import { facts } from '../table.ts';

export const command: CommandSpec = {
  summary: 'Show one pool',
  args: [{ name: 'POOL', what: 'the pool', completes: 'pool' }],
  examples: [['imago pool show web', 'its model, and what it follows']],
  async run(invocation) {
    const client = await invocation.client();
    const pool = await client.call('showPool', { path: { pool: argument(invocation, 'POOL') } });
    invocation.out.thing(pool, pool.name, () =>
      facts({
        name: pool.name,
        provider: pool.provider,
        region: pool.region,
        state: pool.state,
        nodes: pool.capacity,
        size: pool.size,
        reference: pool.reference,
        follows: pool.follows,
        image: `${pool.image}:${pool.version}`,
        digest: pool.digest,
        move: pool.move,
        created: pool.createdAt,
      }),
    );
  },
};
