// Copies of a version in regions: each has a progress and a fate of its own.
import { describe, expect, it } from 'vitest';
import type { GalleryVersion, RegionTarget } from '../../../src/ports/provider/gallery.ts';
import { refusal, refusalOfKind } from './checks.ts';
import type { Suite } from './suite.ts';

export function galleryRegionRules(suite: Suite): void {
  const { options } = suite;

  function targets(count: number): readonly RegionTarget[] {
    return suite.provider.abilities.regions.slice(0, count).map((region) => ({ region, replicas: 1 }));
  }

  function percentIn(version: GalleryVersion | undefined, region: string): number {
    return version?.regions.find((one) => one.region === region)?.percent ?? 0;
  }

  describe('gallery regions', () => {
    it('progress goes from 0 to 100 in every region and never back', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const regions = targets(3);
      await gallery.createVersion({ ...suite.versionSpec(image, '5.0.0', first), regions }, options);
      const best = new Map<string, number>();
      const ready = await suite.until(
        () => gallery.getVersion(image, '5.0.0', options),
        (version) => {
          for (const { region, percent, state } of version.regions) {
            expect(percent).toBeGreaterThanOrEqual(best.get(region) ?? 0);
            expect(percent === 100).toBe(state === 'ready');
            best.set(region, percent);
          }
          return version.state === 'ready';
        },
      );
      expect(ready.regions.map((one) => one.region).sort()).toEqual(regions.map((one) => one.region).sort());
      expect([...best.values()].every((percent) => percent === 100)).toBe(true);
      await gallery.deleteVersion(image, '5.0.0', options);
      await suite.goneVersion(image, '5.0.0');
    });

    it('a region that is unknown, named twice, without copies, or not the own one is refused', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const [home, other] = targets(2);
      if (home === undefined) throw new Error('The provider has no region.');
      const wrong: readonly (readonly RegionTarget[])[] = [
        [home, { region: 'mars', replicas: 1 }],
        [home, home],
        [{ ...home, replicas: 0 }],
        ...(other === undefined ? [] : [[other]]),
      ];
      for (const regions of wrong) {
        const spec = { ...suite.versionSpec(image, '5.1.0', first), regions };
        await refusalOfKind(gallery.createVersion(spec, options), 'input');
      }
      expect(await gallery.getVersion(image, '5.1.0', options)).toBeUndefined();
    });

    it('without regions the version is in the own one', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      await gallery.createVersion({ ...suite.versionSpec(image, '5.2.0', first), regions: [] }, options);
      const ready = await suite.readyVersion(image, '5.2.0');
      expect(ready.regions).toMatchObject([{ region: targets(1)[0]?.region, replicas: 1, state: 'ready' }]);
    });

    it('a region is added while the others stay ready, and taken out only on purpose', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      await suite.publish(image, '5.3.0', first);
      const [home, other] = targets(2);
      if (home === undefined || other === undefined) return;
      await gallery.updateVersion(image, '5.3.0', { regions: [home, other] }, options);
      const both = await suite.until(
        () => gallery.getVersion(image, '5.3.0', options),
        (version) => {
          expect(percentIn(version, home.region)).toBe(100);
          return version.state === 'ready';
        },
      );
      expect(both.regions).toHaveLength(2);
      const less = gallery.updateVersion(image, '5.3.0', { regions: [home] }, options);
      expect((await refusal(less, 'provider-conflict')).retryable).toBe(false);
      expect((await suite.readyVersion(image, '5.3.0')).regions).toHaveLength(2);
      await gallery.updateVersion(image, '5.3.0', { regions: [home], allowRegionRemoval: true }, options);
      expect((await suite.readyVersion(image, '5.3.0')).regions).toHaveLength(1);
    });

    suite.itWith(['regionFaults'], 'a region that failed is tried again alone', async () => {
      const gallery = suite.role('gallery');
      const { failRegion } = suite.under;
      const [home, other] = targets(2);
      if (failRegion === undefined || home === undefined || other === undefined)
        throw new Error('No region can fail.');
      const { image, first } = await suite.line();
      const regions = [home, other];
      await failRegion(image, '5.4.0', other.region);
      await gallery.createVersion({ ...suite.versionSpec(image, '5.4.0', first), regions }, options);
      const failed = await suite.until(
        () => gallery.getVersion(image, '5.4.0', options),
        (version) => version.state === 'failed',
      );
      expect(failed.error?.message).toBeTruthy();
      expect(stateIn(failed, home.region)).toBe('ready');
      expect(stateIn(failed, other.region)).toBe('failed');
      await gallery.updateVersion(image, '5.4.0', { regions }, options);
      const ready = await suite.until(
        () => gallery.getVersion(image, '5.4.0', options),
        (version) => {
          expect(stateIn(version, home.region)).toBe('ready');
          return version.state === 'ready';
        },
      );
      expect(stateIn(ready, other.region)).toBe('ready');
      expect(ready.createdAt).toBe(failed.createdAt);
      expect(ready.error).toBeUndefined();
    });

    suite.itWith(
      ['regionFaults'],
      'a region that failed is also tried again when the version is asked for again',
      async () => {
        const gallery = suite.role('gallery');
        const { failRegion } = suite.under;
        const [home] = targets(1);
        if (failRegion === undefined || home === undefined) throw new Error('No region can fail.');
        const { image, first } = await suite.line();
        const spec = { ...suite.versionSpec(image, '5.5.0', first), regions: targets(2) };
        await failRegion(image, '5.5.0', home.region);
        await gallery.createVersion(spec, options);
        await suite.until(
          () => gallery.getVersion(image, '5.5.0', options),
          (version) => version.state === 'failed',
        );
        await gallery.createVersion(spec, options);
        expect((await suite.readyVersion(image, '5.5.0')).regions.every((one) => one.state === 'ready')).toBe(
          true,
        );
      },
    );
  });
}

function stateIn(version: GalleryVersion, region: string): string | undefined {
  return version.regions.find((one) => one.region === region)?.state;
}
