import { expect, test } from 'vitest';
import { linesOf } from './withdraw.ts';

const ended = {
  ...{ image: 'node', version: '1.34.2', planned: false, versions: ['node:1.34.2'] },
  channels: ['node:production went from 1.34.2 back to 1.34.1'],
};

test('nodes are listed by name, and after so many they are counted', () => {
  const many = Array.from({ length: 300 }, (_, n) => `big-${n}`);
  const lines = linesOf({
    ...{ ...ended, nodes: 302 },
    pools: [
      { pool: 'big', nodes: 300, names: many },
      { pool: 'idle', nodes: 0, names: [] },
      { pool: 'web', nodes: 2, names: ['web-a', 'web-b'] },
    ],
  });
  expect(lines.slice(2)).toEqual([
    '302 nodes run it still:',
    `  pool big: 300 (${many.slice(0, 10).join(', ')} and 290 more)`,
    '  pool web: 2 (web-a, web-b)',
  ]);
});

test('a gallery that was not told is named', () => {
  const untold = ['Gallery public was not told what latest is: No answer.'];
  expect(linesOf({ ...ended, nodes: 0, pools: [], untold }).slice(2)).toEqual([
    'No node runs it.',
    ...untold,
    'Galleries that were not told are told again by themselves.',
  ]);
});
