import { expect, test } from 'vitest';
import { gather } from './gather.ts';

function slow() {
  const calls: (readonly number[])[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const add = gather<number>((items) => {
    calls.push(items);
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    return gate.promise;
  });
  return { calls, gates, add };
}

test('what comes while a call runs goes with the next one', async () => {
  const { calls, gates, add } = slow();
  const all = [[1], [2, 3], [4]].map((items) => add(items));
  expect(calls).toEqual([[1]]);
  gates[0]?.resolve();
  await all[0];
  await expect.poll(() => calls).toEqual([[1], [2, 3, 4]]);
  gates[1]?.resolve();
  await Promise.all(all);
});

test('one that fails does not fail the others', async () => {
  const add = gather<number>(async (items) => {
    if (items.includes(2)) throw new Error('two');
  });
  const ends = await Promise.allSettled([1, 2, 3].map((item) => add([item])));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  await add([4]);
});
