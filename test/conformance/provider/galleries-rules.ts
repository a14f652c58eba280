// Several galleries of one provider.
import { describe, expect, it } from 'vitest';
import { everything, refusal } from './checks.ts';
import type { Suite } from './suite.ts';

export function galleriesRules(suite: Suite): void {
  const { options } = suite;

  /** Clouds differ in what a gallery may be called; letters and digits go everywhere. */
  function galleryName(): string {
    return suite.name('gallery').replaceAll('-', '');
  }

  describe('galleries', () => {
    it('one made twice is one, and deleting nothing succeeds', async () => {
      const galleries = suite.role('galleries');
      const name = galleryName();
      expect(await galleries.getGallery(name, options)).toBeUndefined();
      await galleries.deleteGallery(name, options);
      await galleries.createGallery({ name }, options);
      await galleries.createGallery({ name }, options);
      expect(await galleries.getGallery(name, options)).toMatchObject({ name });
      const all = await everything((query) => galleries.listGalleries(query, options));
      expect(all.filter((gallery) => gallery.name === name)).toHaveLength(1);
      await galleries.deleteGallery(name, options);
      expect(await galleries.getGallery(name, options)).toBeUndefined();
    });

    it('nothing can be put into one that is not there', async () => {
      const gallery = suite.role('galleries').open(galleryName());
      const image = { name: suite.name('image'), os: 'linux', architecture: 'x64', generation: 2 } as const;
      await refusal(gallery.createImage(image, options), 'provider-not-found');
      await refusal(gallery.listImages({ limit: 5 }, options), 'provider-not-found');
    });

    it('a tested version is copied from one to another, with the same bytes', async () => {
      const galleries = suite.role('galleries');
      const { image, first } = await suite.line();
      const home = (await everything((query) => galleries.listGalleries(query, options)))[0]?.name;
      const name = galleryName();
      await galleries.createGallery({ name }, options);
      const production = galleries.open(name);
      await production.createImage({ name: image, os: 'linux', architecture: 'x64', generation: 2 }, options);
      expect(await production.getVersion(image, first.version, options)).toBeUndefined();
      const source = {
        kind: 'version',
        image,
        version: first.version,
        ...(home && { gallery: home }),
      } as const;
      await production.createVersion({ ...suite.versionSpec(image, first.version, first), source }, options);
      const copy = await suite.until(
        () => production.getVersion(image, first.version, options),
        (version) => version.state === 'ready',
      );
      if (suite.has('galleryDigest')) expect(copy.diskDigest).toBe(first.diskDigest);

      await refusal(galleries.deleteGallery(name, options), 'provider-conflict');
      await production.deleteVersion(image, first.version, options);
      await suite.gone(() => production.getVersion(image, first.version, options));
      await production.deleteImage(image, options);
      await galleries.deleteGallery(name, options);
      expect(await suite.readyVersion(image, first.version)).toBeDefined();
    });
  });
}
