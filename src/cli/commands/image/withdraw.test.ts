import { expect, test } from 'vitest';
import { withdrawalLines } from './withdraw.ts';

const ended = {
  ...{ image: 'node', version: '1.34.2', planned: false, versions: ['node:1.34.2'] },
  channels: ['node:production went from 1.34.2 back to 1.34.1'],
};

test('lists nodes by name, and counts those beyond the limit', () => {
  const many = Array.from({ length: 300 }, (_, n) => `big-${n}`);
  const lines = withdrawalLines({
    ...{ ...ended, nodes: 302 },
    pools: [
      { pool: 'big', nodes: 300, names: many },
      { pool: 'idle', nodes: 0, names: [] },
      { pool: 'web', nodes: 2, names: ['web-a', 'web-b'] },
    ],
  });
  expect(lines.slice(2)).toEqual([
    '302 nodes still run it:',
    `  pool big: 300 (${many.slice(0, 10).join(', ')} and 290 more)`,
    '  pool web: 2 (web-a, web-b)',
  ]);
});

test('names a gallery that did not respond', () => {
  const unsynced = ['Gallery public did not receive what latest is: No answer.'];
  expect(withdrawalLines({ ...ended, nodes: 0, pools: [], unsynced }).slice(2)).toEqual([
    'No node runs it.',
    ...unsynced,
    'Imago retries the galleries that did not respond.',
  ]);
});
