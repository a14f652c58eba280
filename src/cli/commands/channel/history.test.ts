import { expect, test } from 'vitest';
import { createOutput } from '../../output/output.ts';
import { command } from './history.ts';

test('the table says which gates an admin overrode', async () => {
  let table = '';
  const out = { write: (text: string) => (table += text), isTTY: false };
  const move = { at: '2026-03-03', channel: 'production', from: '1.0.0', by: 'ann', why: 'urgent' };
  const override = { gates: ['scan', 'approvals'], reason: 'outage', by: 'ann' };
  const items = [
    { ...move, id: 2, to: '1.0.1', policy: { override } },
    { ...move, id: 1, to: '1.0.0', policy: {} },
  ];
  await command.run({
    ...{ args: { IMAGE: 'node:production' }, flags: {} },
    client: async () => ({ call: async () => ({ items }) }),
    out: createOutput('table', false, { out, err: out, env: {} }),
  } as never);
  const [head, overridden, plain] = table.split('\n');
  expect(head).toMatch(/ OVERRIDDEN$/);
  expect(overridden).toMatch(/ scan, approvals$/);
  expect(plain).toMatch(/ -$/);
});
