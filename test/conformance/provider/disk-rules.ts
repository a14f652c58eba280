// Snapshots, and versions made from them: what a capture goes through.
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../../src/ports/provider/disks.ts';
import { everything, refusal } from './checks.ts';
import type { Suite } from './suite.ts';

export function diskRules(suite: Suite): void {
  const { options } = suite;

  async function diskOf(pool: string, index = 0): Promise<string> {
    const disk = (await suite.nodes(pool))[index]?.osDisk;
    if (disk === undefined) throw new Error('The node has no disk that can be captured.');
    return disk;
  }

  async function snapshot(disk: string): Promise<Snapshot> {
    const name = suite.name('snapshot');
    await suite.role('disks').createSnapshot({ name, disk, tags: { made: 'by-the-suite' } }, options);
    return ready(name);
  }

  function ready(name: string): Promise<Snapshot> {
    return suite.until(
      () => suite.role('disks').getSnapshot(name, options),
      (one) => one.state === 'ready',
    );
  }

  async function drop(name: string): Promise<void> {
    await suite.role('disks').deleteSnapshot(name, options);
    await suite.gone(() => suite.role('disks').getSnapshot(name, options));
  }

  describe('snapshots', () => {
    it('nothing is found, deleting it succeeds, and none is made of a disk that is not there', async () => {
      const disks = suite.role('disks');
      const name = suite.name('snapshot');
      expect(await disks.getSnapshot(name, options)).toBeUndefined();
      await disks.deleteSnapshot(name, options);
      await refusal(
        disks.createSnapshot({ name, disk: 'no-such-disk', tags: {} }, options),
        'provider-not-found',
      );
      expect(await disks.getSnapshot(name, options)).toBeUndefined();
    });

    it('of the same disk again is adopted as it was; of another it is refused', async () => {
      const disks = suite.role('disks');
      const { name: pool } = await suite.pool({ capacity: 2 });
      const disk = await diskOf(pool);
      const one = await snapshot(disk);
      expect(one).toMatchObject({ disk, tags: { made: 'by-the-suite' } });
      expect(one.sizeBytes).toBeGreaterThan(0);
      await disks.createSnapshot({ name: one.name, disk, tags: one.tags }, options);
      expect(await disks.getSnapshot(one.name, options)).toEqual(one);
      const other = { name: one.name, disk: await diskOf(pool, 1), tags: one.tags };
      expect((await refusal(disks.createSnapshot(other, options), 'provider-conflict')).retryable).toBe(
        false,
      );
      const all = await everything((query) => disks.listSnapshots(query, options), 1);
      expect(all.filter((found) => found.name === one.name)).toHaveLength(1);
      await drop(one.name);
      await suite.dropPool(pool);
    });

    it('outlives its disk, and deleting twice is deleting once', async () => {
      const disks = suite.role('disks');
      const { name: pool } = await suite.pool({ capacity: 1 });
      const one = await snapshot(await diskOf(pool));
      await suite.dropPool(pool);
      expect((await disks.getSnapshot(one.name, options))?.state).toBe('ready');
      await disks.deleteSnapshot(one.name, options);
      await disks.deleteSnapshot(one.name, options);
      await suite.gone(() => disks.getSnapshot(one.name, options));
    });

    suite.itWith(['gallery'], 'a version made from one is whole without it', async () => {
      const disks = suite.role('disks');
      const gallery = suite.role('gallery');
      const { image, first } = await suite.line();
      const { name: pool } = await suite.pool({ capacity: 1 });
      const [node] = await suite.nodes(pool);
      await suite.role('pools').stopNode(pool, node?.name ?? '', options);
      await suite.until(
        () => suite.role('pools').getNode(pool, node?.name ?? '', options),
        (one) => one.power === 'stopped',
      );
      const one = await snapshot(await diskOf(pool));
      const source = { kind: 'snapshot', name: one.name } as const;
      const spec = { ...suite.versionSpec(image, '7.0.0', first), source };
      await gallery.createVersion(spec, options);
      await gallery.createVersion(spec, options);
      if ((await gallery.getVersion(image, '7.0.0', options))?.state === 'creating') {
        const early = disks.deleteSnapshot(one.name, options);
        expect((await refusal(early, 'provider-conflict')).retryable).toBe(true);
      }
      const made = await suite.readyVersion(image, '7.0.0');
      expect(made.sizeBytes).toBeGreaterThan(0);
      if (suite.has('galleryDigest')) expect(made.diskDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
      await drop(one.name);
      expect(await gallery.getVersion(image, '7.0.0', options)).toEqual(made);
      await gallery.createVersion(spec, options);
      const missing = { ...spec, version: '7.0.1' };
      await refusal(gallery.createVersion(missing, options), 'provider-not-found');
      const clones = await suite.pool({
        capacity: 1,
        model: suite.model(image, { ...first, version: '7.0.0' }),
      });
      const [clone] = await suite.nodes(clones.name);
      expect(clone?.machineId).not.toBe(node?.machineId);
      await suite.dropPool(clones.name);
      await suite.dropPool(pool);
    });

    suite.itWith(['machines'], 'the disk of a single machine can be captured too', async () => {
      const machines = suite.role('machines');
      const spec = await suite.machineSpec();
      await machines.createMachine(spec, options);
      const machine = await suite.until(
        () => machines.getMachine(spec.name, options),
        (one) => one.state === 'ready',
      );
      if (machine.osDisk !== undefined) {
        const one = await snapshot(machine.osDisk);
        await drop(one.name);
      }
      await machines.deleteMachine(spec.name, options);
      await suite.gone(() => machines.getMachine(spec.name, options));
    });
  });
}
