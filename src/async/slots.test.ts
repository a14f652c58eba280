import { expect, it } from 'vitest';
import { createSlots } from './slots.ts';

it('lets no more bodies run than there are slots, and gives a slot back after a throw', async () => {
  const slots = createSlots(2);
  let running = 0;
  let most = 0;
  async function body(fails: boolean): Promise<void> {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (fails) throw new Error('as ordered');
  }
  const all = Array.from({ length: 9 }, (_, place) => slots.use(() => body(place % 3 === 0)));
  const settled = await Promise.allSettled(all);
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(3);
  expect(most).toBe(2);
  expect(running).toBe(0);
});
