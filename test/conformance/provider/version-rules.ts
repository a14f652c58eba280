// Versions of a gallery: content never changes, whatever is asked again.
import { describe, expect, it } from 'vitest';
import { everything, refusal, refusalOfKind } from './checks.ts';
import type { Suite } from './suite.ts';

export function versionRules(suite: Suite): void {
  const { options } = suite;

  describe('gallery versions', () => {
    it('nothing is found, and deleting it succeeds', async () => {
      const gallery = suite.role('gallery');
      const { image } = await suite.line();
      expect(await gallery.getVersion(image, '9.9.9', options)).toBeUndefined();
      expect(await gallery.getVersion('nobody-gave-this', '9.9.9', options)).toBeUndefined();
      await gallery.deleteVersion(image, '9.9.9', options);
      await gallery.deleteVersion('nobody-gave-this', '9.9.9', options);
    });

    it('other calls on nothing say that it is not there', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      await refusal(gallery.updateVersion(image, '9.9.9', {}, options), 'provider-not-found');
      await refusal(gallery.listVersions('nobody-gave-this', { limit: 5 }, options), 'provider-not-found');
      const homeless = suite.versionSpec('nobody-gave-this', '1.0.0', first);
      await refusal(gallery.createVersion(homeless, options), 'provider-not-found');
    });

    it.each([
      { kind: 'disk', digest: `sha256:${'0'.repeat(64)}` },
      { kind: 'version', image: 'nobody-gave-this', version: '1.0.0' },
    ] as const)('is not made from a $kind that is not there', async (source) => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const spec = { ...suite.versionSpec(image, '4.0.0', first), source };
      await refusal(gallery.createVersion(spec, options), 'provider-not-found');
      expect(await gallery.getVersion(image, '4.0.0', options)).toBeUndefined();
    });

    it.each(['1.0', '1.0.0-rc.1', '01.0.0', 'latest'])('refuses the number %j', async (version) => {
      const { image, first } = await suite.line();
      const spec = suite.versionSpec(image, version, first);
      await refusalOfKind(suite.role('gallery').createVersion(spec, options), 'input');
    });

    it('from a disk: becomes ready, with what was asked for', async () => {
      const { image, first } = await suite.line();
      const found = await suite.readyVersion(image, first.version);
      const spec = suite.versionSpec(image, first.version, first);
      expect(found).toMatchObject({ source: spec.source, tags: spec.tags, excludeFromLatest: false });
      expect(found.error).toBeUndefined();
      expect(found.sizeBytes).toBeGreaterThan(0);
      if (suite.has('galleryDigest')) expect(found.diskDigest).toBe(first.diskDigest);
    });

    if (suite.has('galleryDigest')) {
      it('holds the bytes of the disk, which can be read back', async () => {
        const gallery = suite.role('gallery');
        if (gallery.readDigest === undefined) throw new Error('The gallery cannot read disks back.');
        const { image, first } = await suite.line();
        await suite.readyVersion(image, first.version);
        expect(await gallery.readDigest(image, first.version, options)).toBe(first.diskDigest);
        await refusal(gallery.readDigest(image, '9.9.9', options), 'provider-not-found');
      });
    }

    it('made again from the same source is the same version, also while it is being made', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const spec = suite.versionSpec(image, '2.0.0', first);
      await gallery.createVersion(spec, options);
      const begun = await gallery.getVersion(image, '2.0.0', options);
      await gallery.createVersion(spec, options);
      const ready = await suite.readyVersion(image, '2.0.0');
      await gallery.createVersion(spec, options);
      const again = await gallery.getVersion(image, '2.0.0', options);
      expect(again).toEqual(ready);
      expect(ready.createdAt).toBe(begun?.createdAt);
      await gallery.deleteVersion(image, '2.0.0', options);
      await suite.goneVersion(image, '2.0.0');
    });

    it('made again from another source is refused, and its content stays', async () => {
      const gallery = suite.role('gallery');
      const { image, first, second } = await suite.line();
      const before = await gallery.getVersion(image, first.version, options);
      const other = suite.versionSpec(image, first.version, second);
      const error = await refusal(gallery.createVersion(other, options), 'provider-conflict');
      expect(error.retryable).toBe(false);
      expect(await gallery.getVersion(image, first.version, options)).toEqual(before);
    });

    it('from another version: the same bytes', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const spec = {
        ...suite.versionSpec(image, '2.1.0', first),
        source: { kind: 'version', image, version: first.version } as const,
      };
      await gallery.createVersion(spec, options);
      await gallery.createVersion(spec, options);
      const copy = await suite.readyVersion(image, '2.1.0');
      expect(copy.sizeBytes).toBe((await suite.readyVersion(image, first.version)).sizeBytes);
      if (suite.has('galleryDigest')) expect(copy.diskDigest).toBe(first.diskDigest);
      await gallery.deleteVersion(image, '2.1.0', options);
      await suite.goneVersion(image, '2.1.0');
    });

    it('lists versions in the order of their numbers, page by page', async () => {
      const gallery = suite.role('gallery');
      const image = suite.name('numbers');
      const disk = await suite.under.sealDisk('one', options);
      await suite.createImage(image);
      for (const version of ['1.10.0', '1.9.0', '1.9.10', '10.0.0']) {
        await gallery.createVersion(suite.versionSpec(image, version, disk), options);
      }
      const all = await everything((query) => gallery.listVersions(image, query, options), 1);
      expect(all.map((one) => one.version)).toEqual(['1.9.0', '1.9.10', '1.10.0', '10.0.0']);
    });

    it('deleting goes on until it is gone, and may be asked for twice', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      await suite.publish(image, '2.2.0', first);
      await gallery.deleteVersion(image, '2.2.0', options);
      await gallery.deleteVersion(image, '2.2.0', options);
      const going = await gallery.getVersion(image, '2.2.0', options);
      if (going !== undefined) {
        expect(going.state).toBe('deleting');
        const again = gallery.createVersion(suite.versionSpec(image, '2.2.0', first), options);
        expect((await refusal(again, 'provider-conflict')).retryable).toBe(true);
        const change = gallery.updateVersion(image, '2.2.0', { endOfLife: '2099-01-01T00:00:00Z' }, options);
        expect((await refusal(change, 'provider-conflict')).retryable).toBe(true);
      }
      await suite.goneVersion(image, '2.2.0');
      const left = await everything((query) => gallery.listVersions(image, query, options));
      expect(left.map((one) => one.version)).not.toContain('2.2.0');
    });

    it('one that is still being made can be deleted', async () => {
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      await gallery.createVersion(suite.versionSpec(image, '2.3.0', first), options);
      await gallery.deleteVersion(image, '2.3.0', options);
      await suite.goneVersion(image, '2.3.0');
    });

    it('a change of what may change leaves the rest as it is', async () => {
      const gallery = suite.role('gallery');
      const { image, second } = await suite.line();
      const before = await suite.readyVersion(image, second.version);
      const endOfLife = '2099-01-01T00:00:00Z';
      const change = suite.has('excludeFromLatest') ? { endOfLife, excludeFromLatest: true } : { endOfLife };
      await gallery.updateVersion(image, second.version, change, options);
      const after = await suite.readyVersion(image, second.version);
      expect(after).toEqual({ ...before, ...change });
    });

    it('an end of life that is no time is refused', async () => {
      const { image, second } = await suite.line();
      const change = { endOfLife: 'next spring' };
      await refusalOfKind(
        suite.role('gallery').updateVersion(image, second.version, change, options),
        'input',
      );
    });

    suite.itWith(
      ['deletionGuard'],
      'the guard holds until the end of life, or until it is taken away',
      async () => {
        const gallery = suite.role('gallery');
        const { image, first } = await suite.line();
        const guarded = { endOfLife: '2999-01-01T00:00:00Z', blockDeletionBeforeEndOfLife: true };
        await gallery.createVersion({ ...suite.versionSpec(image, '2.4.0', first), ...guarded }, options);
        await suite.readyVersion(image, '2.4.0');
        await refusal(gallery.deleteVersion(image, '2.4.0', options), 'provider-conflict');
        expect(await gallery.getVersion(image, '2.4.0', options)).toMatchObject({
          state: 'ready',
          ...guarded,
        });
        await gallery.updateVersion(image, '2.4.0', { blockDeletionBeforeEndOfLife: false }, options);
        await suite.readyVersion(image, '2.4.0');
        await gallery.deleteVersion(image, '2.4.0', options);
        await suite.goneVersion(image, '2.4.0');
      },
    );

    it('limits tell how much is used', async () => {
      const gallery = suite.role('gallery');
      const before = await gallery.limits(options);
      for (const limit of before) {
        expect(limit.used).toBeGreaterThanOrEqual(0);
        expect(limit.limit).toBeGreaterThan(0);
      }
      await suite.createImage(suite.name('counted'));
      const after = await gallery.limits(options);
      const images = before.find((limit) => limit.name === 'images');
      if (images === undefined) return;
      expect(after).toContainEqual({ ...images, used: images.used + 1 });
    });
  });
}
