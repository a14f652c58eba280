import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLanes } from './keyed-worker.ts';

const options = { retryMs: 5, onTrouble: () => undefined };

describe('lanes', () => {
  it('runs the work of one key one at a time, and again if it was requested in the meantime', async () => {
    const lanes = createLanes(options);
    let inside = 0;
    let most = 0;
    let runs = 0;
    const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      runs += 1;
      started.resolve();
      await finish.promise;
      inside -= 1;
    };
    lanes.run('a', work);
    await started.promise;
    for (let index = 0; index < 5; index++) lanes.run('a', work);
    finish.resolve();
    await lanes.idle();
    expect({ most, runs }).toEqual({ most: 1, runs: 2 });
  });

  it('reports work that throws, and retries it', async () => {
    const troubles: string[] = [];
    const repaired: string[] = [];
    const lanes = createLanes({
      ...{ ...options, onTrouble: (key) => troubles.push(key), onRepaired: (key) => repaired.push(key) },
    });
    const { promise: again, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    lanes.run('a', async () => {
      runs += 1;
      if (runs === 1) throw new Error('trouble');
      resolve();
    });
    await again;
    expect(troubles).toEqual(['a']);
    await expect.poll(() => repaired).toEqual(['a']);
    await lanes.close();
  });

  it('closing waits for what runs and begins nothing', async () => {
    const lanes = createLanes(options);
    const told: string[] = [];
    const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    lanes.run('a', async () => {
      started.resolve();
      await finish.promise;
      told.push('a');
    });
    await started.promise;
    lanes.run('a', async () => void told.push('a again'));
    const closing = lanes.close();
    lanes.run('b', async () => void told.push('b'));
    finish.resolve();
    await closing;
    await sleep(10);
    expect(told).toEqual(['a']);
  });
});
