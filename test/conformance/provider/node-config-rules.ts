// The config of running nodes: it reaches the node and nothing else, and the node says what it did with it.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NodeReport } from '../../../src/domain/node/report.ts';
import type { ProviderNode } from '../../../src/ports/provider/pools.ts';
import { refusal } from './checks.ts';
import type { Suite } from './suite.ts';

const first = '{"schemaVersion":1,"system":{"sysctl":{"kernel.panic":10}}}';
const second = '{"schemaVersion":1,"system":{"sysctl":{"kernel.panic":20}}}';
const drains = '{"components":{"kubelet":"9.9.9"},"schemaVersion":1}';

export function nodeConfigRules(suite: Suite): void {
  const { options } = suite;

  async function poolOfTwo(): Promise<{ pool: string; node: ProviderNode; other: ProviderNode }> {
    const { image, first: version } = await suite.line();
    const { name: pool } = await suite.pool({ capacity: 2, model: suite.model(image, version, first) });
    const [node, other] = await suite.nodes(pool);
    if (node === undefined || other === undefined) throw new Error(`Pool ${pool} has too few nodes.`);
    await reported(pool, node.name, (report) => report.phase === 'ready');
    return { pool, node, other };
  }

  function reported(pool: string, node: string, is: (report: NodeReport) => boolean): Promise<NodeReport> {
    return suite.until(() => suite.role('nodeConfigs').getReport(pool, node, options), is);
  }

  describe('configs of running nodes', () => {
    it('a change reaches that very node, is reported by its digest, and touches nothing else', async () => {
      const configs = suite.role('nodeConfigs');
      const { pool, node, other } = await poolOfTwo();
      const before = await suite.role('pools').getPool(pool, options);
      expect(await configs.getUserData(pool, node.name, options)).toBe(first);
      await configs.setUserData(pool, node.name, second, options);
      await configs.setUserData(pool, node.name, second, options);
      expect(await configs.getUserData(pool, node.name, options)).toBe(second);
      expect(await configs.getUserData(pool, other.name, options)).toBe(first);
      expect(await configs.hasOwnUserData(pool, node.name, options)).toBe(true);
      expect(await configs.hasOwnUserData(pool, other.name, options)).toBe(false);
      const report = await reported(pool, node.name, ({ config }) => config?.digest === sha256(second));
      expect(report).toMatchObject({ phase: 'ready', machineId: node.machineId });
      expect(await suite.role('pools').getPool(pool, options)).toEqual(before);
      expect(await suite.node(pool, node.name)).toMatchObject({
        power: 'running',
        imagedAt: node.imagedAt,
        machineId: node.machineId,
      });
      await suite.dropPool(pool);
    });

    it('one that needs a drain waits, and the node goes on with what it had', async () => {
      const configs = suite.role('nodeConfigs');
      const { pool, node } = await poolOfTwo();
      await configs.setUserData(pool, node.name, drains, options);
      const report = await reported(pool, node.name, ({ waiting }) => waiting !== undefined);
      expect(report).toMatchObject({
        phase: 'ready',
        config: { digest: sha256(first) },
        wanted: { digest: sha256(drains) },
        waiting: { for: 'drain', digest: sha256(drains) },
      });
      expect(report.pending.map(({ cost }) => cost)).toContain('drain');
      await suite.dropPool(pool);
    });

    it('one that waits for a drain goes on when that very config is allowed to', async () => {
      const configs = suite.role('nodeConfigs');
      const { pool, node } = await poolOfTwo();
      await configs.setUserData(pool, node.name, drains, options);
      await reported(pool, node.name, ({ waiting }) => waiting !== undefined);
      const allow = (digest: string) =>
        configs.allowChange(pool, node.name, { cost: 'drain', digest }, options);
      await allow(sha256(second));
      const waits = await configs.getReport(pool, node.name, options);
      expect(waits?.waiting).toEqual({ for: 'drain', digest: sha256(drains) });
      await allow(sha256(drains));
      const report = await reported(pool, node.name, ({ config }) => config?.digest === sha256(drains));
      expect(report.waiting).toBeUndefined();
      await allow(sha256(drains));
      expect((await configs.getReport(pool, node.name, options))?.config?.digest).toBe(sha256(drains));
      await refusal(
        configs.allowChange('no-such-pool', 'any', { cost: 'drain', digest: '' }, options),
        'provider-not-found',
      );
      await suite.dropPool(pool);
    });

    it('one that cannot be read is refused with the reason, and the node goes on with what it had', async () => {
      const configs = suite.role('nodeConfigs');
      const { pool, node } = await poolOfTwo();
      await configs.setUserData(pool, node.name, '{"schemaVersion":99}', options);
      const report = await reported(pool, node.name, ({ error }) => error !== undefined);
      expect(report).toMatchObject({
        phase: 'ready',
        config: { digest: sha256(first) },
        error: { class: 'node-config-invalid', retry: false },
      });
      await suite.dropPool(pool);
    });

    it('a pool or node that is not there is not found', async () => {
      const configs = suite.role('nodeConfigs');
      await refusal(configs.getUserData('no-such-pool', 'any', options), 'provider-not-found');
      await refusal(configs.setUserData('no-such-pool', 'any', '{}', options), 'provider-not-found');
      await refusal(configs.getReport('no-such-pool', 'any', options), 'provider-not-found');
    });

    suite.itWith(['uniform', 'reimage'], 'a new disk brings the config of the model back', async () => {
      const configs = suite.role('nodeConfigs');
      const { pool, node } = await poolOfTwo();
      await configs.setUserData(pool, node.name, second, options);
      await suite.role('pools').reimageNode(pool, node.name, options);
      await suite.settledPool(pool);
      expect(await configs.getUserData(pool, node.name, options)).toBe(first);
      await suite.dropPool(pool);
    });
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
