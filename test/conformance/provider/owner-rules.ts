// A stale owner is refused, and whoever gave up waiting is let go.
import { describe, expect, it } from 'vitest';
import type { CallOptions } from '../../../src/ports/provider/call.ts';
import { refusal } from './checks.ts';
import type { Suite } from './suite.ts';

export function ownerRules(suite: Suite): void {
  describe('owners', () => {
    suite.itWith(['fencing'], 'a stale one may look, and may not write, in any role', async () => {
      const stale: CallOptions = { ...suite.options, epoch: suite.options.epoch - 1 };
      for (const options of [suite.options, stale]) {
        for (const read of reads(suite)) expect(await read(options)).toBeUndefined();
      }
      for (const write of writes(suite)) {
        const error = await refusal(write(stale), 'owner-stale');
        expect(error.retryable).toBe(false);
      }
    });

    suite.itWith(['fencing', 'gallery'], 'a stale one changes nothing by trying', async () => {
      const image = { name: suite.name('stale'), os: 'linux', architecture: 'x64', generation: 2 } as const;
      const stale: CallOptions = { ...suite.options, epoch: suite.options.epoch - 1 };
      await suite.role('gallery').getImage(image.name, suite.options);
      await refusal(suite.role('gallery').createImage(image, stale), 'owner-stale');
      expect(await suite.role('gallery').getImage(image.name, suite.options)).toBeUndefined();
    });

    it('one who gave up is answered with the reason, by every role', async () => {
      const reason = new Error('given up');
      const options: CallOptions = { ...suite.options, signal: AbortSignal.abort(reason) };
      for (const call of [...reads(suite), ...writes(suite)]) {
        await expect(call(options)).rejects.toBe(reason);
      }
    });
  });
}

type Call = (options: CallOptions) => Promise<unknown>;

/** One read of each role that there is. */
function reads({ provider }: Suite): readonly Call[] {
  const { gallery, galleries, pools, machines, disks, builder } = provider;
  return [
    ...(gallery ? [(options: CallOptions) => gallery.getImage('nothing', options)] : []),
    ...(galleries ? [(options: CallOptions) => galleries.getGallery('nothing', options)] : []),
    ...(pools ? [(options: CallOptions) => pools.getPool('nothing', options)] : []),
    ...(machines ? [(options: CallOptions) => machines.getMachine('nothing', options)] : []),
    ...(disks ? [(options: CallOptions) => disks.getSnapshot('nothing', options)] : []),
    ...(builder ? [(options: CallOptions) => builder.find('sha256:nothing', options)] : []),
  ];
}

/** One harmless write of each role that there is. */
function writes({ provider }: Suite): readonly Call[] {
  const { gallery, galleries, pools, machines, disks } = provider;
  return [
    ...(gallery ? [(options: CallOptions) => gallery.deleteImage('nothing', options)] : []),
    ...(galleries ? [(options: CallOptions) => galleries.deleteGallery('nothing', options)] : []),
    ...(pools ? [(options: CallOptions) => pools.deletePool('nothing', options)] : []),
    ...(machines ? [(options: CallOptions) => machines.deleteMachine('nothing', options)] : []),
    ...(disks ? [(options: CallOptions) => disks.deleteSnapshot('nothing', options)] : []),
  ];
}
