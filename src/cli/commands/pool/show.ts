// One pool.
import type { AnswerOf } from '../../../api/contract/types.ts';
import { facts } from '../../output/table.ts';
import { argument, type CommandSpec } from '../../spec/command.ts';

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
        forwards: pool.forwards?.join(', '),
        behind: behindText(pool.behind),
        created: pool.createdAt,
      }),
    );
  },
};

function behindText(behind: AnswerOf<'showPool'>['behind']): string | undefined {
  if (behind === undefined) return undefined;
  if (behind.versions === 0) return '0 days: it is the newest';
  return `${behind.days} days: ${behind.versions} versions are newer, the last is ${behind.newest}`;
}
