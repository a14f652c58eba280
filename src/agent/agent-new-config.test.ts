// The agent on a running node that gets another config, good or bad, on a machine in memory.
import { describe, expect, it } from 'vitest';
import {
  base,
  config,
  connect,
  encode,
  machine,
  nodeFiles,
  platformWith,
  start,
} from '../../test/support/agent/memory-node.ts';
import { memorySystem } from '../../test/support/agent/memory-system.ts';
import { withWords } from '../domain/node-config/words.ts';
import { sha256 } from './system/sha256.ts';

describe('a new config on a running node', () => {
  it('is applied immediately if it is live, and restarts nothing', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    system.commands.length = 0;
    platform.userData = encode({
      ...config,
      system: { sysctl: { 'vm.max_map_count': 300_000 } },
      users: [],
    });
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', pending: [] });
    expect(node.report().wanted).toBeUndefined();
    expect(system.readText('/proc/sys/vm/max_map_count')).toBe('300000');
    expect(system.readText('/etc/sudoers.d/imago-ann')).toBeUndefined();
    expect(system.readText('/etc/passwd')).toContain('ann:x:1000:1000::/home/ann:/usr/sbin/nologin');
    expect(system.commands.filter((line) => line.includes('restart'))).toEqual([]);
  });

  it('restarts what reads the change, and nothing else', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    system.commands.length = 0;
    platform.userData = encode({ ...config, kubelet: { maxPods: 60 } });
    await node.look();
    expect(node.report().phase).toBe('ready');
    expect(system.commands.filter((line) => line.includes('restart'))).toEqual([
      'systemctl try-restart kubelet.service',
    ]);
  });

  it('is held until the next boot if it restarts services and the policy requires it', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    const next = { ...config, kubelet: { maxPods: 60 }, policy: { restart: 'hold' } };
    platform.userData = encode(next);
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', waiting: { for: 'restart' } });
    expect(node.report().pending.map(({ field }) => field)).toContain('kubelet.maxPods');
    expect(system.readText('/var/lib/kubelet/config.yaml')).toContain('50');
    system.powerCut(0);
    connect(system, platform);
    const again = await start(system);
    expect(again.report().waiting).toBeUndefined();
    expect(system.readText('/var/lib/kubelet/config.yaml')).toContain('60');
  });

  it('is allowed in userData too, until the words are gone', async () => {
    const platform = platformWith(config);
    const node = await start(machine(platform));
    const other = JSON.stringify({ ...config, runtime: { ...config.runtime, cgroupDriver: 'cgroupfs' } });
    platform.userData = encode(other);
    await node.look();
    const { waiting } = node.report();
    expect(waiting).toMatchObject({ for: 'drain', digest: sha256(other) });
    const allow = { cost: 'drain', digest: sha256('another config') } as const;
    platform.userData = encode(withWords(other, { own: true, allow }));
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', waiting });
    platform.userData = encode(withWords(other, { allow: { cost: 'drain', digest: sha256(other) } }));
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', config: { digest: sha256(other) } });
    expect(node.report().waiting).toBeUndefined();
  });

  it('waits for the drain that it needs, and continues when it is allowed', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    platform.userData = encode({ ...config, runtime: { ...config.runtime, cgroupDriver: 'cgroupfs' } });
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', waiting: { for: 'drain' } });
    expect(system.readText('/etc/containerd/config.toml')).toContain('SystemdCgroup = true');
    node.allow('drain');
    await node.look();
    expect(node.report().waiting).toBeUndefined();
    expect(system.readText('/etc/containerd/config.toml')).toContain('SystemdCgroup = false');
  });

  it('lets a kubelet that is registered ask another address of its API server, and leaves other addresses', async () => {
    const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
    const at = (host: string) => ({ ...config, kubernetes: { apiServer: `https://${host}`, ca } });
    const kubeconfig = (host: string) => `clusters:\n- cluster:\n    server: https://${host}\n  name: a\n`;
    for (const [registered, after] of [
      ['old.example.com', 'new.example.com'],
      ['elsewhere.example.com', 'elsewhere.example.com'],
    ] as const) {
      const platform = platformWith(at('old.example.com'));
      const system = machine(platform);
      const node = await start(system);
      system.writeFile('/var/lib/kubelet/kubeconfig', kubeconfig(registered), { mode: 0o600 });
      platform.userData = encode(at('new.example.com'));
      await node.look();
      expect(node.report().error).toBeUndefined();
      expect(system.readText('/var/lib/kubelet/kubeconfig')).toBe(kubeconfig(after));
      system.commands.length = 0;
      await node.look(true);
      expect(system.commands.filter((line) => /restart|^sync/.test(line))).toEqual([]);
    }
  });

  it('stays pending if the permission for it is revoked', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    platform.userData = encode({ ...config, runtime: { ...config.runtime, cgroupDriver: 'cgroupfs' } });
    await node.look();
    node.allow('drain');
    node.deny();
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', waiting: { for: 'drain' } });
  });

  it('has the configured swap, of another size when that changes, and none in the end', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    const change = async (swapMiB: number) => {
      platform.userData = encode({ ...config, system: { ...config.system, swapMiB } });
      await node.look();
      node.allow('drain');
      await node.look();
      expect(node.report()).toMatchObject({ phase: 'ready', pending: [] });
      return system.facts('/var/lib/imago/swap')?.size;
    };
    expect(await change(1)).toBe(1_048_576);
    expect(system.commands).toContain('mkswap /var/lib/imago/swap.new');
    expect(system.commands.some((one) => /^systemctl start .*imago-swap\.swap/.test(one))).toBe(true);
    expect(system.readText('/var/lib/kubelet/config.yaml')).toContain('"failSwapOn": false');
    const before = system.commands.length;
    expect(await change(2)).toBe(2_097_152);
    const since = system.commands.slice(before);
    const stopped = since.indexOf('systemctl stop var-lib-imago-swap.swap');
    expect(stopped).toBeGreaterThanOrEqual(0);
    expect(since.indexOf('mkswap /var/lib/imago/swap.new')).toBeGreaterThan(stopped);
    expect(await change(0)).toBeUndefined();
    expect(system.facts('/etc/systemd/system/var-lib-imago-swap.swap')).toBeUndefined();
  });

  it('keeps the swap that it had when the disk has no room for more', async () => {
    const platform = platformWith({ ...config, system: { ...config.system, swapMiB: 1 } });
    const system = machine(platform);
    const node = await start(system);
    const good = node.report().config;
    platform.userData = encode({ ...config, system: { ...config.system, swapMiB: 4 } });
    await node.look();
    node.allow('drain');
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', config: good, error: { class: 'node-disk-full' } });
    expect(system.facts('/var/lib/imago/swap')?.size).toBe(1_048_576);
    expect(system.facts('/var/lib/imago/swap.new')).toBeUndefined();
  });

  it('is reported and never done when it needs a new disk', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    platform.userData = encode({ ...config, node: { ...config.node, name: 'web-2' } });
    await node.look();
    node.allow('drain');
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', waiting: { for: 'reimage' } });
    expect(system.readText('/etc/hostname')).toBe('web-1\n');
  });

  it('reverts when it fails, reports it, and is not retried', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    const before = nodeFiles(system);
    const good = node.report().config;
    platform.broken.add('bad.service');
    const unit = { name: 'bad.service', state: 'enabled', content: '[Service]\nExecStart=/bin/false\n' };
    platform.userData = encode({ ...config, units: [unit], kubelet: { maxPods: 70 } });
    await node.look();
    expect(node.report()).toMatchObject({
      phase: 'ready',
      config: good,
      error: { class: 'node-service-failed' },
    });
    expect(node.report().wanted?.digest).not.toBe(good?.digest);
    expect(nodeFiles(system)).toEqual(before);
    const tries = system.commands.filter((line) => line.includes('start containerd')).length;
    await node.look(true);
    await node.look(true);
    expect(system.commands.filter((line) => line.includes('start containerd'))).toHaveLength(tries);
    system.powerCut(0);
    connect(system, platform);
    const again = await start(system);
    expect(again.report()).toMatchObject({ phase: 'ready', config: good, error: { retry: false } });
  });

  it('is not ready while what it goes back to does not come up again, and is when it does', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    const good = node.report().config;
    platform.broken.add('containerd.service');
    platform.userData = encode({ ...config, runtime: { ...config.runtime, maxLogLineBytes: 2048 } });
    await node.look();
    expect(node.report()).toMatchObject({
      phase: 'failed',
      config: good,
      error: { class: 'node-service-failed', retry: true },
    });
    platform.broken.clear();
    platform.userData = encode(config);
    await node.look(true);
    expect(node.report()).toMatchObject({ phase: 'ready', config: good });
    expect(node.report().error).toBeUndefined();
  });

  it('that cannot be read leaves the node as it is, also across a boot', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const node = await start(system);
    platform.userData = encode('no JSON');
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', error: { class: 'node-config-invalid' } });
    system.powerCut(0);
    connect(system, platform);
    const again = await start(system);
    expect(again.report()).toMatchObject({ phase: 'ready', error: { class: 'node-config-invalid' } });
    expect(system.commands).toContain('systemctl start containerd.service kubelet.service');
  });
});

describe('a good config whose services do not come up at a boot', () => {
  it('is tried again, for they may only be slow', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    await start(system);
    system.powerCut(0);
    connect(system, platform);
    platform.broken.add('containerd.service');
    const node = await start(system);
    expect(node.report()).toMatchObject({
      phase: 'failed',
      error: { class: 'node-service-failed', retry: true },
    });
    platform.broken.clear();
    await node.look(true);
    expect(node.report().phase).toBe('ready');
    expect(node.report().error).toBeUndefined();
  });
});

describe('a runtime that runs and no longer responds', () => {
  const unit = '/usr/lib/systemd/system/containerd.service';
  const silent = { exitCode: 7, stderr: 'curl: (7) Connection refused' };

  async function brokenLater() {
    const platform = platformWith(config);
    const system = memorySystem({ ...base, [unit]: `${base[unit]}Type=notify\n` });
    connect(system, platform);
    const node = await start(system);
    expect(node.report().phase).toBe('ready');
    platform.answers.set('curl --silent --show-error --http2-prior-knowledge', silent);
    return { platform, system, node };
  }

  it('leaves no node ready when another config makes it be asked', async () => {
    const { platform, node } = await brokenLater();
    platform.userData = encode({ ...config, files: [{ ...config.files?.[0], content: 'other\n' }] });
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'failed', error: { class: 'node-service-failed' } });
  });

  it('leaves no node ready when the agent starts again in the same boot', async () => {
    const { platform, system } = await brokenLater();
    platform.userData = encode('no JSON');
    expect((await start(system)).report().phase).toBe('failed');
  });
});
