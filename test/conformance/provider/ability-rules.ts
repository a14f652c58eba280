// Abilities are honest, a stale owner is refused, and whoever gave up waiting is let go.
import { describe, expect, it } from 'vitest';
import { refusal, refusalOfKind } from './checks.ts';
import type { Lackable, Suite } from './suite.ts';

const roles = ['gallery', 'galleries', 'pools', 'nodeConfigs', 'machines', 'disks', 'builder'] as const;

export function abilityRules(suite: Suite): void {
  describe('abilities', () => {
    it('are exactly what was declared', () => {
      expect(lackedBy(suite).sort()).toEqual(Object.keys(suite.traits.lacks).sort());
    });

    suite.itWithout(
      ['excludeFromLatest'],
      ['gallery'],
      'a version cannot be excluded from a latest that the provider does not have',
      async () => {
        const { image, first } = await suite.line();
        const spec = { ...suite.versionSpec(image, '3.0.0', first), excludeFromLatest: true };
        await refusal(suite.role('gallery').createVersion(spec, suite.options), 'provider-lacks');
        expect(await suite.role('gallery').getVersion(image, '3.0.0', suite.options)).toBeUndefined();
      },
    );

    suite.itWithout(
      ['deletionGuard'],
      ['gallery'],
      'a version cannot be guarded where there is no guard',
      async () => {
        const { image, first } = await suite.line();
        const spec = { ...suite.versionSpec(image, '3.0.1', first), blockDeletionBeforeEndOfLife: true };
        await refusal(suite.role('gallery').createVersion(spec, suite.options), 'provider-lacks');
        expect(await suite.role('gallery').getVersion(image, '3.0.1', suite.options)).toBeUndefined();
      },
    );

    suite.itWithout(['regions'], ['gallery'], 'a region cannot be named where there is none', async () => {
      const { image, first } = await suite.line();
      const spec = {
        ...suite.versionSpec(image, '3.0.2', first),
        regions: [{ region: 'mars', replicas: 1 }],
      };
      await refusal(suite.role('gallery').createVersion(spec, suite.options), 'provider-lacks');
      expect(await suite.role('gallery').getVersion(image, '3.0.2', suite.options)).toBeUndefined();
    });

    for (const orchestration of ['uniform', 'flexible'] as const) {
      suite.itWithout(
        [orchestration],
        ['pools'],
        `a ${orchestration} pool is refused where there are none`,
        async () => {
          const spec = await suite.poolSpec({ orchestration });
          await refusal(suite.role('pools').createPool(spec, suite.options), 'provider-lacks');
          expect(await suite.role('pools').getPool(spec.name, suite.options)).toBeUndefined();
        },
      );
    }

    suite.itWithout(
      ['reimage', 'upgrade', 'protect'],
      ['pools'],
      'what cannot be done to nodes is refused and changes nothing',
      async () => {
        const pools = suite.role('pools');
        const { name: pool } = await suite.pool();
        const [before] = await suite.nodes(pool);
        const node = before?.name ?? '';
        const protection = { fromScaleIn: true, fromPoolActions: true };
        if (!suite.has('reimage'))
          await refusal(pools.reimageNode(pool, node, suite.options), 'provider-lacks');
        if (!suite.has('upgrade'))
          await refusal(pools.upgradeNode(pool, node, suite.options), 'provider-lacks');
        if (!suite.has('protect')) {
          await refusal(pools.protectNode(pool, node, protection, suite.options), 'provider-lacks');
        }
        const after = await suite.node(pool, node);
        expect(after).toMatchObject({
          imagedAt: before?.imagedAt,
          protection: before?.protection,
          latestModelApplied: true,
        });
        await suite.dropPool(pool);
      },
    );

    suite.itWithout(
      ['snapshots'],
      ['disks', 'pools'],
      'no snapshot is made where there are none',
      async () => {
        const name = suite.name('snapshot');
        await refusal(
          suite.role('disks').createSnapshot({ name, disk: 'any', tags: {} }, suite.options),
          'provider-lacks',
        );
        expect(await suite.role('disks').getSnapshot(name, suite.options)).toBeUndefined();
      },
    );

    suite.itWithout(
      ['runCommand'],
      ['machines'],
      'commands are refused where machines take none',
      async () => {
        const command = { script: 'true', timeoutMs: 1000 };
        await refusal(suite.role('machines').runCommand('any', command, suite.options), 'provider-lacks');
      },
    );
  });

  describe('a page', () => {
    suite.itWith(['gallery'], 'must hold something', async () => {
      await refusalOfKind(suite.role('gallery').listImages({ limit: 0 }, suite.options), 'input');
    });
  });
}

function lackedBy({ provider, under }: Suite): Lackable[] {
  const { abilities } = provider;
  return [
    ...(under.failRegion === undefined ? (['regionFaults'] as const) : []),
    ...roles.filter((role) => provider[role] === undefined),
    ...(['uniform', 'flexible'] as const).filter((one) => !abilities.orchestration.includes(one)),
    ...(abilities.regions.length === 0 ? (['regions'] as const) : []),
    ...(
      [
        'reimage',
        'upgrade',
        'protect',
        'excludeFromLatest',
        'deletionGuard',
        'galleryDigest',
        'snapshots',
        'runCommand',
        'fencing',
      ] as const
    ).filter((ability) => !abilities[ability]),
  ];
}
