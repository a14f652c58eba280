// What is left when the machine ends during an apply, and what the next start makes of it.
import { describe, expect, it } from 'vitest';
import {
  config,
  connect,
  encode,
  type MemoryPlatform,
  machine,
  nodeFiles,
  platformWith,
  start,
} from '../../test/support/agent/memory-node.ts';
import { MachineDied, type MemorySystem } from '../../test/support/agent/memory-system.ts';
import type { NodeReport } from '../domain/node/report.ts';
import type { NodeConfig } from '../domain/node-config/schema.ts';

describe('a machine that ends during an apply', () => {
  const next: NodeConfig = {
    ...config,
    files: [{ path: '/etc/motd', content: 'new\n' }],
    kubelet: { maxPods: 60 },
  };

  async function updating(): Promise<readonly [MemorySystem, MemoryPlatform]> {
    const platform = platformWith(config);
    const system = machine(platform);
    await start(system);
    platform.userData = encode(next);
    return [system, platform];
  }

  async function rebooted(system: MemorySystem, platform: MemoryPlatform): Promise<NodeReport> {
    connect(system, platform);
    return (await start(system)).report();
  }

  async function ended(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (thrown) {
      if (!(thrown instanceof MachineDied)) throw thrown;
      return false;
    }
  }

  it('ends up with the new config, wherever the agent was killed', async () => {
    const [whole, wholePlatform] = await updating();
    const target = await rebooted(whole, wholePlatform).then(() => nodeFiles(whole));
    for (let call = 1; ; call += 1) {
      const [system, platform] = await updating();
      system.dieAt(call, 'after');
      const survived = await ended(() => start(system));
      system.restart();
      const report = await rebooted(system, platform);
      expect(report, `killed at ${call}`).toMatchObject({ phase: 'ready', pending: [] });
      expect(nodeFiles(system), `killed at ${call}`).toEqual(target);
      expect(system.facts('/var/lib/imago/journal')).toBeUndefined();
      if (survived) break;
    }
  });

  it('ends up with the new config, wherever the power was cut', async () => {
    const [whole, wholePlatform] = await updating();
    whole.powerCut(0);
    const target = await rebooted(whole, wholePlatform).then(() => nodeFiles(whole));
    for (let call = 1; ; call += 1) {
      const [system, platform] = await updating();
      system.dieAt(call, 'after');
      const survived = await ended(() => start(system));
      system.powerCut(call % 4);
      const report = await rebooted(system, platform);
      expect(report, `cut at ${call}`).toMatchObject({ phase: 'ready', pending: [] });
      expect(nodeFiles(system), `cut at ${call}`).toEqual(target);
      if (survived) break;
    }
  });

  it('keeps the last good config when the disk is full at any write, and says why', async () => {
    for (let write = 1; write < 15; write += 1) {
      const [system, platform] = await updating();
      const files = nodeFiles(system);
      connect(system, platform);
      system.fillAt(write);
      const { report } = await start(system);
      expect(report().phase, `full at ${write}`).toBe('ready');
      if (report().error === undefined) break;
      expect(report().error).toMatchObject({ class: 'node-disk-full', retry: true });
      expect(nodeFiles(system), `full at ${write}`).toEqual(files);
    }
  });

  it.each([
    ['', false],
    [', even if it fetches something different each time', true],
  ])('abandons a config that causes a power failure each time%s', async (_, fetches) => {
    const [system, platform] = await updating();
    let tries = 0;
    const identity = { url: 'https://api.example.com/bootstrap', resource: 'api://cluster' };
    const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
    const kubernetes = { apiServer: 'https://api.example.com', ca, bootstrap: { identity } };
    if (fetches) platform.userData = encode({ ...next, kubernetes });
    platform.served.set(identity.url, () => `kubeconfig of try ${tries}`);
    for (;;) {
      connect(system, platform);
      const calm = system.run;
      const deadly: MemorySystem = {
        ...system,
        run: async (command, options) => {
          if (/^(?:try-re)?start$/.test(command[1] ?? '') && system.readText('/etc/motd') === 'new\n') {
            tries += 1;
            system.dieAt(1, 'before');
          }
          return calm(command, options);
        },
      };
      if (await ended(() => start(deadly))) break;
      system.powerCut(0);
      expect(tries).toBeLessThan(5);
    }
    expect(tries).toBe(3);
    expect(system.readText('/etc/motd')).toBe('hello\n');
    const report = JSON.parse(system.readText('/run/imago/status.json') ?? '') as NodeReport;
    expect(report).toMatchObject({ phase: 'ready', error: { class: 'node-apply-interrupted' } });
  });
});
