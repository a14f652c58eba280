// Images of a gallery.
import { describe, expect, it } from 'vitest';
import type { GalleryImage } from '../../../src/ports/provider/gallery.ts';
import { everything, refusal, refusalOfKind } from './checks.ts';
import type { Suite } from './suite.ts';

export function galleryRules(suite: Suite): void {
  const { options } = suite;

  function imageNamed(name: string): GalleryImage {
    return { name, os: 'linux', architecture: 'x64', generation: 2 };
  }

  describe('gallery images', () => {
    it('nothing is found under a name that nobody gave', async () => {
      expect(await suite.role('gallery').getImage('nobody-gave-this', options)).toBeUndefined();
    });

    it('deleting nothing succeeds', async () => {
      await suite.role('gallery').deleteImage('nobody-gave-this', options);
    });

    it('an image made twice is one image', async () => {
      const gallery = suite.role('gallery');
      const image = imageNamed(suite.name('image'));
      await gallery.createImage(image, options);
      await gallery.createImage(image, options);
      expect(await gallery.getImage(image.name, options)).toMatchObject(image);
      const all = await everything((query) => gallery.listImages(query, options));
      expect(all.filter((one) => one.name === image.name)).toHaveLength(1);
      await gallery.deleteImage(image.name, options);
    });

    it.each([
      { os: 'windows' },
      { architecture: 'arm64' },
      { generation: 1 },
      { osState: 'specialized' },
    ] as const)('an image never becomes one with %o', async (change) => {
      const gallery = suite.role('gallery');
      const image = imageNamed(suite.name('image'));
      await gallery.createImage(image, options);
      const error = await refusal(gallery.createImage({ ...image, ...change }, options), 'provider-conflict');
      expect(error.retryable).toBe(false);
      expect(await gallery.getImage(image.name, options)).toMatchObject(image);
      await gallery.deleteImage(image.name, options);
    });

    it.each(['', 'Upper', '-dash', 'a b', 'x'.repeat(100)])('refuses the name %j', async (name) => {
      await refusalOfKind(suite.role('gallery').createImage(imageNamed(name), options), 'input');
    });

    it('lists images in the order of their names, each once, while others are made and deleted', async () => {
      const gallery = suite.role('gallery');
      const stem = suite.name('paged');
      const names = Array.from({ length: 6 }, (_, index) => `${stem}-${index}`);
      for (const name of names) await gallery.createImage(imageNamed(name), options);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await gallery.listImages(
          cursor === undefined ? { limit: 2 } : { limit: 2, cursor },
          options,
        );
        expect(page.items.length).toBeLessThanOrEqual(2);
        seen.push(...page.items.map((image) => image.name));
        cursor = page.next;
        await gallery.createImage(imageNamed(suite.name('a-before')), options);
        await gallery.deleteImage(`${stem}-0`, options);
      } while (cursor !== undefined);
      expect(seen).toEqual([...seen].sort());
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((name) => name.startsWith(stem)).slice(-5)).toEqual(names.slice(1));
    });

    it('an image that has versions is not deleted', async () => {
      const { image } = await suite.line();
      await refusal(suite.role('gallery').deleteImage(image, options), 'provider-conflict');
      expect(await suite.role('gallery').getImage(image, options)).toBeDefined();
    });
  });
}
