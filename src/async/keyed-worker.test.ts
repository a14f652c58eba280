import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLanes } from './keyed-worker.ts';

const options = { retryMs: 5, onTrouble: () => undefined };

describe('lanes', () => {
  it('one thing is worked on once at a time, and once more when it was asked for meanwhile', async () => {
    const lanes = createLanes(options);
    let inside = 0;
    let most = 0;
    let runs = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      runs += 1;
      await sleep(5);
      inside -= 1;
    };
    lanes.run('a', work);
    await sleep(1);
    for (let index = 0; index < 5; index++) lanes.run('a', work);
    await lanes.idle();
    expect({ most, runs }).toEqual({ most: 1, runs: 2 });
  });

  it('work that throws is told, and tried again', async () => {
    const troubles: string[] = [];
    const lanes = createLanes({ ...options, onTrouble: (key) => troubles.push(key) });
    const { promise: again, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    lanes.run('a', async () => {
      runs += 1;
      if (runs === 1) throw new Error('trouble');
      resolve();
    });
    await again;
    expect(troubles).toEqual(['a']);
    await lanes.close();
  });

  it('closing waits for what runs and begins nothing', async () => {
    const lanes = createLanes(options);
    const told: string[] = [];
    lanes.run('a', async () => {
      await sleep(5);
      told.push('a');
    });
    await sleep(1);
    lanes.run('a', async () => undefined);
    const closing = lanes.close();
    lanes.run('b', async () => void told.push('b'));
    await closing;
    await sleep(10);
    expect(told).toEqual(['a']);
  });
});
