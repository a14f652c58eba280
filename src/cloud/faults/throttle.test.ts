import { describe, expect, it } from 'vitest';
import { simFixture } from '../../../test/support/sim/fixture.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { azureCeilings } from './throttle.ts';

const ceilings = { 'gallery.getImage': { bucket: 'reads', in3Minutes: 3, in30Minutes: 5 } };

describe('throttling', () => {
  it('allows a number of calls in three minutes, and reports when to retry', async () => {
    const { sim, clock, options } = simFixture({ ceilings });
    const call = () => sim.gallery.getImage('a', options);
    for (let count = 0; count < 3; count++) await call();
    await clock.advance(60_000);
    const error = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ImagoError);
    expect(error).toMatchObject({
      code: 'provider-throttled',
      retryable: true,
      details: { retryAfterMs: 120_000 },
    });
    await clock.advance(120_000);
    expect(await call()).toBeUndefined();
  });

  it('and a number in thirty', async () => {
    const { sim, clock, options } = simFixture({ ceilings });
    const call = () => sim.gallery.getImage('a', options);
    for (let count = 0; count < 5; count++) {
      await call();
      await clock.advance(100_000);
    }
    await expect(call()).rejects.toMatchObject({ details: { retryAfterMs: 1_800_000 - 500_000 } });
  });

  it('does not use up a fault, and counts calls that were refused', async () => {
    const { sim, options } = simFixture({
      ceilings: { 'gallery.listVersions': { bucket: 'lists', in3Minutes: 1, in30Minutes: 9 } },
    });
    const list = () => sim.gallery.listVersions('nothing', { limit: 1 }, options);
    await expect(list()).rejects.toMatchObject({ code: 'provider-not-found' });
    sim.faults.add({ kind: 'fails', call: '*' });
    await expect(list()).rejects.toMatchObject({ code: 'provider-throttled' });
    expect(sim.faults.list()).toMatchObject([{ seen: 0, spent: false }]);
  });

  it('other calls are not held up', async () => {
    const { sim, options } = simFixture({ ceilings });
    for (let count = 0; count < 10; count++) await sim.gallery.limits(options);
  });

  it('by default is what Azure was seen to do', async () => {
    expect(azureCeilings['gallery.createVersion']).toMatchObject({ in3Minutes: 375, in30Minutes: 1200 });
    const { sim, options } = simFixture({ ceilings: azureCeilings });
    for (let count = 0; count < 150; count++) await sim.gallery.deleteVersion('node', '1.0.0', options);
    await expect(sim.gallery.deleteVersion('node', '1.0.0', options)).rejects.toMatchObject({
      code: 'provider-throttled',
    });
  });
});
