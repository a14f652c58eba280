// How the platform hears of the first boot: once, in time, and without anybody waiting for it.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { config, connect, machine, platformWith, start } from '../../../test/support/agent/memory-node.ts';
import type { MemorySystem } from '../../../test/support/agent/memory-system.ts';
import { createPlatform } from './wire-server.ts';

function asked(system: MemorySystem): number {
  return system.commands.filter((line) => line.startsWith('curl') && line.includes('--request')).length;
}

describe('the platform', () => {
  it('is notified once, even across restarts and for later outcomes', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    platform.userData = '';
    await node.look();
    system.powerCut(0);
    connect(system, platform);
    await start(system);
    expect(platform.health).toHaveLength(1);
    expect(platform.health[0]).toContain('<State>Ready</State>');
  });

  it('that does not exist is queried once a minute, and delays nothing', async () => {
    const platform = { ...platformWith(config), hasWireServer: false };
    const system = machine(platform);
    const node = await start(system);
    expect(node.report().phase).toBe('ready');
    const before = system.uptimeMs();
    const asks = asked(system);
    for (let look = 0; look < 20; look += 1) {
      system.advance(15_000);
      await node.look();
    }
    const looks = 20;
    expect(asked(system) - asks - looks).toBe(5);
    expect(system.uptimeMs() - before).toBe(300_000);
    platform.hasWireServer = true;
    system.advance(60_000);
    await node.look();
    expect(platform.health).toHaveLength(1);
  });

  it('hears that the machine is ready when the apply takes longer than it waits, and nothing after', async () => {
    const [source, program] = ['https://files.example.com/tool', 'bytes of the tool'];
    const sha256 = createHash('sha256').update('something else').digest('hex');
    const hotfix = { component: 'tool', version: '1.1', source, sha256, to: '/usr/bin/tool' };
    const platform = platformWith({ ...config, hotfixes: [hotfix] });
    platform.downloads.set(source, program);
    platform.slow.set('curl --silent --show-error --fail', 700_000);
    const { report } = await start(machine(platform));
    expect(report()).toMatchObject({ phase: 'failed', error: { class: 'input-mismatch' } });
    expect(platform.health).toHaveLength(1);
    expect(platform.health[0]).toContain('<State>Ready</State>');
  });

  it('hears of a failure that is known in time, with its reason', async () => {
    const platform = platformWith(config);
    platform.broken.add('kubelet.service');
    await start(machine(platform));
    expect(platform.health).toHaveLength(1);
    expect(platform.health[0]).toContain('<SubStatus>ProvisioningFailed</SubStatus>');
    expect(platform.health[0]).toContain('kubelet.service');
  });

  it('is notified by one of two concurrent callers', async () => {
    const platform = platformWith(config);
    const teller = createPlatform(machine(platform), 'http://168.63.129.16', 'machine-1');
    await Promise.all([teller.tell({ ready: true }), teller.tell({ ready: false, why: 'no' })]);
    expect(platform.health).toHaveLength(1);
  });

  it('is notified even if the record of an earlier time is damaged', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    system.makeFolder('/var/lib/imago');
    system.writeFile('/var/lib/imago/platform-report.json', '', { mode: 0o600 });
    await start(system);
    expect(platform.health).toHaveLength(1);
  });
});
