// Limits: one too many is refused by its name, and nothing is half made.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { everything, refusal } from './checks.ts';
import { type MakeProvider, type ProviderTraits, Suite } from './suite.ts';

export interface LimitedProvider {
  readonly make: MakeProvider;
  /** How many of each the limited provider allows; each at least 2. */
  readonly images: number;
  readonly versions: number;
  readonly nodesPerPool: number;
}

export function limitRules(limited: LimitedProvider, traits: ProviderTraits): void {
  const suite = new Suite(traits);
  const { options } = suite;

  describe('limits', () => {
    beforeAll(() => suite.open(limited.make));
    afterAll(() => suite.close());

    suite.itWith(['pools'], 'a pool grows to its limit and not beyond', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool({ capacity: limited.nodesPerPool });
      const before = await pools.getPool(spec.name, options);
      await refusal(pools.setCapacity(spec.name, limited.nodesPerPool + 1, {}, options), 'provider-quota');
      expect(await pools.getPool(spec.name, options)).toEqual(before);
      const tooBig = await suite.poolSpec({ capacity: limited.nodesPerPool + 1 });
      await refusal(pools.createPool(tooBig, options), 'provider-quota');
      expect(await pools.getPool(tooBig.name, options)).toBeUndefined();
      await suite.dropPool(spec.name);
    });

    suite.itWith(
      ['gallery'],
      'versions are made up to the limit, and room comes back when one is gone',
      async () => {
        const gallery = suite.role('gallery');
        const { image, first } = await suite.line();
        const used = (await everything((query) => gallery.listVersions(image, query, options))).length;
        for (let patch = used; patch < limited.versions; patch++)
          await suite.publish(image, `2.0.${patch}`, first);
        const extra = suite.versionSpec(image, '3.0.0', first);
        await refusal(gallery.createVersion(extra, options), 'provider-quota');
        expect(await gallery.getVersion(image, '3.0.0', options)).toBeUndefined();
        expect((await gallery.limits(options)).find((limit) => limit.name === 'versions')).toEqual({
          name: 'versions',
          used: limited.versions,
          limit: limited.versions,
        });
        await gallery.createVersion(suite.versionSpec(image, first.version, first), options);
        await gallery.deleteVersion(image, `2.0.${limited.versions - 1}`, options);
        await suite.goneVersion(image, `2.0.${limited.versions - 1}`);
        await gallery.createVersion(extra, options);
      },
    );

    suite.itWith(['gallery'], 'images are made up to the limit', async () => {
      const gallery = suite.role('gallery');
      await suite.line();
      const used = (await everything((query) => gallery.listImages(query, options))).length;
      for (let made = used; made < limited.images; made++) await suite.createImage(suite.name('image'));
      const extra = suite.name('image');
      await refusal(
        gallery.createImage({ name: extra, os: 'linux', architecture: 'x64', generation: 2 }, options),
        'provider-quota',
      );
      expect(await gallery.getImage(extra, options)).toBeUndefined();
    });
  });
}
