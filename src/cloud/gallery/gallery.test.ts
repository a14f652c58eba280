// What the simulated gallery does as Azure's does, beyond what every gallery must.
import { describe, expect, it, test } from 'vitest';
import { type SimFixture, simFixture } from '../../../test/support/sim/fixture.ts';
import { azureDurations } from '../../providers/sim/world/durations.ts';

const regions = [
  { region: 'eastus', replicas: 2 },
  { region: 'westeurope', replicas: 3 },
  { region: 'northeurope', replicas: 1 },
];

/** Seconds until `done`, to the second. */
async function secondsUntil({ clock }: SimFixture, done: () => Promise<boolean>): Promise<number> {
  for (let seconds = 0; seconds < 10_000; seconds++) {
    if (await done()) return seconds;
    await clock.advance(1000);
  }
  throw new Error('It never came.');
}

describe('durations of a version', () => {
  it('the first region takes what Azure takes, and the others follow side by side', async () => {
    const fixture = simFixture();
    const { sim, options } = fixture;
    await fixture.publish('1.0.0');
    await sim.gallery.createVersion(
      { ...fixture.versionSpec('2.0.0', await fixture.seal()), regions },
      options,
    );
    const read = () => sim.gallery.getVersion('node', '2.0.0', options);
    expect((await read())?.regions.map((one) => [one.region, one.state])).toEqual([
      ['westeurope', 'replicating'],
      ['eastus', 'pending'],
      ['northeurope', 'pending'],
    ]);
    const first = await secondsUntil(fixture, async () => (await read())?.regions[0]?.state === 'ready');
    expect(first).toBeGreaterThanOrEqual(azureDurations.versionCreate.low);
    expect(first).toBeLessThanOrEqual(azureDurations.versionCreate.high + 1);
    expect((await read())?.regions.map((one) => one.state)).toEqual(['ready', 'replicating', 'replicating']);
    const others = await secondsUntil(fixture, async () => (await read())?.state === 'ready');
    expect(others).toBeLessThanOrEqual(azureDurations.regionAdd.high + 1);
  });

  it('a change takes 150 s, and a deletion 91 to 150 s', async () => {
    const fixture = simFixture();
    const { sim, options } = fixture;
    await fixture.publish('1.0.0');
    const read = () => sim.gallery.getVersion('node', '1.0.0', options);
    await sim.gallery.updateVersion('node', '1.0.0', { endOfLife: '2030-01-01T00:00:00Z' }, options);
    expect((await read())?.state).toBe('updating');
    const change = await secondsUntil(fixture, async () => (await read())?.state === 'ready');
    expect(change).toBeGreaterThanOrEqual(140);
    await sim.gallery.deleteVersion('node', '1.0.0', options);
    const deletion = await secondsUntil(fixture, async () => (await read()) === undefined);
    expect(deletion).toBeGreaterThanOrEqual(91);
    expect(deletion).toBeLessThanOrEqual(151);
  });

  it('if the first region fails the others wait, and all resume when it is retried', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    await fixture.publish('1.0.0');
    const spec = { ...fixture.versionSpec('2.0.0', await fixture.seal()), regions };
    sim.faults.add({ kind: 'fails-later', call: 'gallery.createVersion', region: 'westeurope' });
    await sim.gallery.createVersion(spec, options);
    await clock.advance(3_600_000);
    const failed = await sim.gallery.getVersion('node', '2.0.0', options);
    expect(failed?.state).toBe('failed');
    expect(failed?.regions.map((one) => one.state)).toEqual(['failed', 'pending', 'pending']);
    expect(failed?.diskDigest).toBeUndefined();
    await sim.gallery.updateVersion('node', '2.0.0', { regions }, options);
    await clock.advance(3_600_000);
    expect((await sim.gallery.getVersion('node', '2.0.0', options))?.state).toBe('ready');
  });
});

describe('replicas', () => {
  it('are limited over all regions of a version, and the limit shows the fullest', async () => {
    const fixture = simFixture({ limits: { replicasPerVersion: 5 } });
    const { sim, options } = fixture;
    await fixture.publish('1.0.0');
    const spec = { ...fixture.versionSpec('2.0.0', await fixture.seal()), regions };
    await expect(sim.gallery.createVersion(spec, options)).rejects.toMatchObject({ code: 'provider-quota' });
    await sim.gallery.createVersion({ ...spec, regions: regions.slice(0, 2) }, options);
    expect(await sim.gallery.limits(options)).toContainEqual({
      name: 'replicas-per-version',
      used: 5,
      limit: 5,
    });
  });

  it('more of them let more machines start at the same time', async () => {
    const took = async (replicas: number) => {
      const fixture = simFixture();
      const { sim, clock, options } = fixture;
      const model = await fixture.publish('1.0.0');
      await sim.gallery.updateVersion(
        'node',
        '1.0.0',
        { regions: [{ region: 'westeurope', replicas }] },
        options,
      );
      await sim.pools.createPool(fixture.poolSpec('web', 400, model), options);
      const began = clock.now();
      await secondsUntil(fixture, async () => (await sim.pools.getPool('web', options))?.state === 'ready');
      return clock.now() - began;
    };
    expect(await took(1)).toBeGreaterThan((await took(20)) + 20_000);
  });
});

test('the versions of one image are limited, and another image has its own room', async () => {
  const fixture = simFixture({ limits: { versionsPerImage: 1 } });
  const { sim, options } = fixture;
  await fixture.publish('1.0.0');
  const extra = fixture.versionSpec('2.0.0', await fixture.seal());
  await expect(sim.gallery.createVersion(extra, options)).rejects.toMatchObject({ code: 'provider-quota' });
  const full = { name: 'versions-per-image', used: 1, limit: 1 };
  expect(await sim.gallery.limits(options)).toContainEqual(full);
  expect(await sim.gallery.limits({ ...options, image: 'node' })).toContainEqual(full);
  expect(await sim.gallery.limits({ ...options, image: 'other' })).toContainEqual({ ...full, used: 0 });
});

describe('galleries', () => {
  it('are limited, and the own one stays', async () => {
    const { sim, options } = simFixture({ limits: { galleries: 2 } });
    await sim.galleries.createGallery({ name: 'second' }, options);
    await expect(sim.galleries.createGallery({ name: 'third' }, options)).rejects.toMatchObject({
      code: 'provider-quota',
    });
    await expect(sim.galleries.deleteGallery('imago', options)).rejects.toMatchObject({
      code: 'provider-conflict',
    });
    await expect(sim.galleries.createGallery({ name: 'with-dash' }, options)).rejects.toMatchObject({
      code: 'input-invalid',
    });
    await expect(sim.galleries.createGallery({ name: 'x', region: 'mars' }, options)).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  it('have their own region, where their versions are created first', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    await sim.galleries.createGallery({ name: 'overseas', region: 'eastus' }, options);
    const gallery = sim.galleries.open('overseas');
    await gallery.createImage({ name: 'node', os: 'linux', architecture: 'x64', generation: 2 }, options);
    await gallery.createVersion(fixture.versionSpec('1.0.0', await fixture.seal()), options);
    await clock.advance(3_600_000);
    expect((await gallery.getVersion('node', '1.0.0', options))?.regions).toMatchObject([
      { region: 'eastus' },
    ]);
    const model = { gallery: 'overseas', ...(await fixture.publish('1.0.0')) };
    const spec = { ...fixture.poolSpec('web', 1, model), region: 'eastus' };
    await sim.pools.createPool(spec, options);
    const here = sim.pools.createPool({ ...spec, name: 'here', region: 'westeurope' }, options);
    await expect(here).rejects.toMatchObject({ code: 'provider-not-found' });
  });
});
