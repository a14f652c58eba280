// The whole agent on a machine in memory: what it makes of configs, good and bad, and what is left when it dies.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { NodeConfig } from '../domain/node-config/schema.ts';
import type { NodeReport } from '../domain/node-report.ts';
import {
  base,
  config,
  connect,
  encode,
  type MemoryPlatform,
  machine,
  nodeFiles,
  platformWith,
  start,
} from './memory-node.ts';
import { MachineDied, type MemorySystem, memorySystem } from './memory-system.ts';
import type { QuickJsModules } from './quickjs/modules.ts';
import { verbs } from './verbs.ts';

describe('a first boot', () => {
  it('makes the node what its config says, and says ready', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const { report } = await start(system);
    expect(report().error).toBeUndefined();
    expect(report().phase).toBe('ready');
    expect(report().config?.schemaVersion).toBe('1');
    expect(report().timeline.map(({ name }) => name)).toContain('kubelet');
    const files = system.snapshot();
    expect(files['/etc/motd']).toBe('644 0:0 hello\n');
    expect(files['/etc/hostname']).toBe('644 0:0 web-1\n');
    expect(files['/etc/hosts']).toContain('10.0.0.4 api.example.com');
    expect(files['/etc/sudoers.d/imago-ann']).toContain('440 0:0 ann ALL');
    expect(files['/etc/passwd']).toContain('ann:x:1000:1000::/home/ann:/bin/sh');
    expect(files['/proc/sys/vm/max_map_count']).toContain('262144');
    expect(files['/proc/sys/kernel/hostname']).toContain('web-1');
    expect(files['/etc/containerd/config.toml']).toContain('SystemdCgroup = true');
    expect(files['/etc/containerd/certs.d/registry.example.com/hosts.toml']).toContain(
      'https://mirror.example.com',
    );
    expect(files['/var/lib/kubelet/config.yaml']).toContain('"maxPods": 50');
    expect(files['/etc/imago/kubelet.env']).toContain('--node-labels=imago.dev/pool=web,team=a');
    expect(system.commands.filter((line) => line.startsWith('systemctl start'))).toEqual([
      'systemctl start containerd.service kubelet.service',
    ]);
    expect(platform.health).toHaveLength(1);
    expect(platform.health[0]).toContain('<State>Ready</State>');
  });

  it('is ready with the kernel arguments that its config wants to be there', async () => {
    const system = machine(platformWith({ ...config, system: { kernelArguments: ['quiet'] } }));
    expect((await start(system)).report()).toMatchObject({ phase: 'ready' });
  });

  it.each([
    ['there is no userData', '', 'node-config-missing'],
    ['userData is not base64', '{}', 'node-config-invalid'],
    ['it is not JSON', encode('hello'), 'node-config-invalid'],
    ['it is too big', 'A'.repeat(70_000), 'node-config-too-big'],
    ['it is of another version', encode({ schemaVersion: 9 }), 'node-config-invalid'],
    [
      'its kernel was started with other arguments than it must have',
      encode({ ...config, system: { kernelArguments: ['quiet', 'a=b'] } }),
      'node-config-requires',
    ],
    ['it requires what the image lacks', encode({ ...config, requires: ['flying'] }), 'node-config-requires'],
  ])('fails with nothing touched when %s', async (_, userData, code) => {
    const platform = { ...platformWith(config), userData };
    const system = machine(platform);
    const before = nodeFiles(system);
    const { report } = await start(system);
    expect(report()).toMatchObject({ phase: 'failed', error: { class: code } });
    expect(nodeFiles(system)).toEqual(before);
    expect(system.commands.some((line) => line.startsWith('systemctl start'))).toBe(false);
    expect(platform.health[0]).toContain('<State>NotReady</State>');
  });

  it('waits for a metadata service that is late, slow, flapping or over its rate', async () => {
    const platform = { ...platformWith(config), trouble: ['silent', '503', '429', 'silent', '500'] };
    const { report } = await start(machine(platform));
    expect(report().phase).toBe('ready');
  });

  it('says so when the metadata service never answers', async () => {
    const platform = { ...platformWith(config), trouble: Array<string>(500).fill('silent') };
    await expect(start(machine(platform))).rejects.toMatchObject({ code: 'node-metadata-unreachable' });
  });

  it('takes everything back when a service does not start, and starts nothing', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const before = nodeFiles(system);
    platform.broken.add('kubelet.service');
    const { report } = await start(system);
    expect(report()).toMatchObject({ phase: 'failed', error: { class: 'node-service-failed' } });
    expect(nodeFiles(system)).toEqual(before);
    expect(system.commands.at(-1)).not.toContain('systemctl start');
    expect(system.readText('/run/imago/configured')).toBeUndefined();
    expect(platform.health[0]).toContain('kubelet.service');
  });
});

describe('a boot until the node is ready', () => {
  /** Of each program its name and what tells it from others. */
  const short = (line: string) => line.split(' ').slice(0, 3).join(' ');

  it('starts no program that could wait', async () => {
    const slice = '/sys/fs/cgroup/system.slice';
    const system = memorySystem({
      ...base,
      '/usr/lib/systemd/system/imago-late.target': '[Unit]\n',
      [`${slice}/containerd.service/cgroup.procs`]: '1\n',
      [`${slice}/kubelet.service/cgroup.procs`]: '2\n',
    });
    connect(system, platformWith(config));
    const { beforeReady } = await start(system);
    expect(beforeReady.map(short)).toEqual([
      ...['bash -c LC_ALL=C;', 'curl --silent --show-error'],
      ...['sync -- /var/lib/imago/journal/current.json', 'sync -- /var/lib/imago/journal'],
      ...['sync -- /var/lib/imago/journal', 'ip -force -batch', 'systemctl start containerd.service'],
      ...['curl --silent --show-error', 'bash -c LC_ALL=C;'],
    ]);
  });

  it('has its identity on the disk with the first thing that a config leaves there', async () => {
    const system = machine(platformWith(config));
    const { beforeReady } = await start(system);
    const last = beforeReady.findLast((line) => line.includes('/var/lib/imago/identity.json'));
    expect(last).toContain('journal/current.json');
    system.powerCut(0);
    expect(system.readText('/var/lib/imago/identity.json')).toContain('machine-1');

    const refused = machine({ ...platformWith(config), userData: '' });
    expect((await start(refused)).report().phase).toBe('failed');
    refused.powerCut(0);
    expect(refused.readText('/var/lib/imago/identity.json')).toContain('machine-1');
  });

  it('that loses its power as soon as the node is ready comes back with the same config', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    const dying: MemorySystem = {
      ...system,
      rename: (from, to) => {
        system.rename(from, to);
        const status = system.readText('/run/imago/status.json') ?? '{}';
        if ((JSON.parse(status) as NodeReport).phase === 'ready') system.dieAt(1, 'before');
      },
    };
    await expect(start(dying)).rejects.toBeInstanceOf(MachineDied);
    system.powerCut(0);
    expect(system.readText('/var/lib/imago/config.json')).toBeUndefined();
    platform.userData = '';
    connect(system, platform);
    expect((await start(system)).report().phase).toBe('failed');
    platform.userData = encode(config);
    expect((await start(system)).report()).toMatchObject({ phase: 'ready', pending: [] });
    expect(system.readText('/etc/motd')).toBe('hello\n');
    expect(system.readText('/var/lib/imago/config.json')).toContain('web-1');
  });

  it('is none when the disk breaks before the config is recorded, and says so', async () => {
    const system = machine(platformWith(config));
    const before = nodeFiles(system);
    let broken = true;
    const failing: MemorySystem = {
      ...system,
      run: async (command, options) => {
        if (!broken || command[0] !== 'sync' || command[2] !== '/etc') return system.run(command, options);
        broken = false;
        return { exitCode: 1, stdout: '', stderr: 'sync: error: Input/output error', timedOut: false };
      },
    };
    const node = await start(failing);
    expect(node.report()).toMatchObject({ phase: 'failed', error: { class: 'node-apply-failed' } });
    expect(node.report().config).toBeUndefined();
    expect(nodeFiles(system)).toEqual(before);
    expect(system.readText('/run/imago/configured')).toBeUndefined();
  });
});

describe('a unit that never starts', () => {
  const unit = { name: 'slow.service', state: 'enabled', content: '[Service]\nExecStart=/bin/sleep 9\n' };

  it('that systemd gives no word of is told after its time, with everything as it was', async () => {
    const platform = platformWith({ ...config, units: [unit] });
    const system = machine(platform);
    const before = nodeFiles(system);
    platform.hanging.add('slow.service');
    const { report } = await start(system);
    expect(report()).toMatchObject({ phase: 'failed', error: { class: 'node-service-failed' } });
    expect(report().error?.message).toContain('nothing for 300 s');
    expect(nodeFiles(system)).toEqual(before);
  });

  it('but says that it will is waited for, and not for ever', async () => {
    const platform = platformWith({ ...config, units: [unit] });
    const system = machine(platform);
    platform.activating.add('slow.service');
    const { report } = await start(system);
    expect(report()).toMatchObject({ phase: 'failed', error: { class: 'node-service-failed' } });
    expect(report().error?.message).toContain('slow.service is activating');
    expect(system.readText('/run/imago/configured')).toBeUndefined();
  });
});

describe('a second apply', () => {
  it('changes nothing, ten times in a row', async () => {
    const system = machine(platformWith(config));
    const node = await start(system);
    const before = system.snapshot();
    const inodes = () => Object.keys(before).map((path) => system.facts(path)?.inode);
    const first = inodes();
    system.commands.length = 0;
    for (let run = 0; run < 10; run += 1) await node.look(true);
    expect(node.report().phase).toBe('ready');
    const stable = (path: string) => !path.startsWith('/run/imago/');
    const changed = Object.keys(before).filter(
      (path, index) => stable(path) && inodes()[index] !== first[index],
    );
    expect(changed).toEqual([]);
    expect(
      system.commands.filter((line) => /^(?:systemctl (?:re|start|stop|try|daemon)|sync)/.test(line)),
    ).toEqual([]);
  });

  it('puts right what somebody changed', async () => {
    const system = machine(platformWith(config));
    const node = await start(system);
    system.remove('/etc/motd');
    await node.look(true);
    expect(system.readText('/etc/motd')).toBe('hello\n');
    expect(system.commands).toContain('systemctl try-restart containerd.service');
  });
});

describe('a new config on a running node', () => {
  it('is applied at once when it is live, and restarts nothing', async () => {
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

  it('is held when it restarts services and the policy says so, until the next boot', async () => {
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

  it('waits for the drain that it needs, and goes on when there is room', async () => {
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

  it('stays as it is when the room for it is taken back', async () => {
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

  it('has the swap that it is told to, of another size when that changes, and none in the end', async () => {
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

  it('goes back when it fails, says so, and is not tried again', async () => {
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
    [', also when what it fetches is another one each time', true],
  ])('gives a config up that takes the power away each time%s', async (_, fetches) => {
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

describe('a hotfix', () => {
  const program = 'the better kubelet';
  const sha256 = createHash('sha256').update(program).digest('hex');
  const source = 'https://example.com/kubelet';
  const hotfix = {
    component: 'tool',
    version: '2',
    source,
    sha256,
    to: '/usr/bin/tool',
    restarts: ['kubelet.service'],
  };

  it('is installed once, and taken away again with what was there before', async () => {
    const platform = platformWith(config);
    const system = machine(platform);
    system.makeFolder('/usr/bin');
    system.writeFile('/usr/bin/tool', 'the old one', { mode: 0o755 });
    const node = await start(system);
    const before = nodeFiles(system);
    platform.downloads.set(source, program);
    platform.userData = encode({ ...config, hotfixes: [hotfix] });
    await node.look();
    expect(node.report().error).toBeUndefined();
    expect(system.readText('/usr/bin/tool')).toBe(program);
    expect(system.commands).toContain('systemctl try-restart kubelet.service');
    platform.downloads.clear();
    await node.look(true);
    expect(node.report()).toMatchObject({ phase: 'ready' });
    expect(node.report().error).toBeUndefined();
    platform.userData = encode(config);
    await node.look();
    expect(nodeFiles(system)).toEqual(before);
  });

  it.each([
    ['of the wrong sha256', new Map([[source, 'something else']]), 'input-mismatch', false],
    ['that cannot be fetched', new Map<string, string>(), 'download-failed', true],
  ])('%s changes nothing', async (_, downloads, code, retry) => {
    const platform = { ...platformWith(config), downloads };
    const system = machine(platform);
    const node = await start(system);
    const before = nodeFiles(system);
    platform.userData = encode({ ...config, hotfixes: [hotfix] });
    await node.look();
    expect(node.report()).toMatchObject({ phase: 'ready', error: { class: code, retry } });
    expect(nodeFiles(system)).toEqual(before);

    const fresh = machine({ ...platform, health: [] });
    const untouched = nodeFiles(fresh);
    expect((await start(fresh)).report()).toMatchObject({ phase: 'failed', error: { class: code } });
    expect(nodeFiles(fresh)).toEqual(untouched);
  });

  const dpkgSays =
    "dpkg: error processing archive /x (--install):\n cannot copy extracted data for './a': failed to write (No space left on device)\n";
  it.each([
    ['fetched', hotfix, 'curl --silent --show-error --fail', 23, 'curl: (23) Failure writing output'],
    ['unpacked', { ...hotfix, kind: 'tar' }, 'tar', 2, 'tar: a: Cannot write: No space left on device'],
    ['installed', { ...hotfix, kind: 'package', to: undefined }, 'dpkg --install', 1, dpkgSays],
  ])(
    'that a full disk keeps from being %s is tried five times, and applied when there is room',
    async (_, wanted, command, exitCode, stderr) => {
      const platform = platformWith(config);
      platform.downloads.set(source, program);
      const system = machine(platform);
      const node = await start(system);
      const before = nodeFiles(system);
      platform.userData = encode({ ...config, hotfixes: [wanted] });
      platform.answers.set(command, { exitCode, stderr });
      await node.look();
      const full = { class: 'node-disk-full', retry: true };
      expect(node.report()).toMatchObject({ phase: 'ready', error: full });
      for (let look = 2; look <= 5; look += 1) await node.look(true);
      expect(node.report()).toMatchObject({ phase: 'ready', error: full });
      const ran = () => system.commands.filter((line) => line.startsWith(command)).length;
      expect(ran()).toBe(5);
      await node.look(true);
      expect(ran()).toBe(5);
      expect(node.report().error?.retry).toBe(false);
      const files = Object.entries(nodeFiles(system)).filter(([path]) => !path.includes('/downloads/'));
      expect(Object.fromEntries(files)).toEqual(before);

      const other = machine({ ...platform, health: [] });
      expect((await start(other)).report()).toMatchObject({ phase: 'failed', error: full });
      platform.answers.clear();
      connect(other, platform);
      expect((await start(other)).report()).toMatchObject({ phase: 'ready' });
    },
  );
});

describe('the rest of the system, on an image that puts it off', () => {
  const rest = 'systemctl start --no-block imago-late.target';
  const late = { '/usr/lib/systemd/system/imago-late.target': '[Unit]\n' };

  function lateMachine(platform: MemoryPlatform): MemorySystem {
    const system = memorySystem({ ...base, ...late });
    connect(system, platform);
    return system;
  }

  it('starts once, after the node is ready and before a platform that may not be there is told', async () => {
    const system = lateMachine({ ...platformWith(config), hasWireServer: false });
    const node = await start(system);
    expect(node.report().phase).toBe('ready');
    expect(node.beforeReady).not.toContain(rest);
    expect(system.commands.indexOf(rest)).toBe(system.commands.length - 2);
    expect(system.commands.at(-1)).toMatch(/^curl/);
    await node.look();
    expect(system.commands.filter((line) => line === rest)).toHaveLength(1);
  });

  it('starts as well when the node has failed: somebody will want to look at it', async () => {
    const system = lateMachine({ ...platformWith(config), userData: '' });
    expect((await start(system)).report().phase).toBe('failed');
    expect(system.commands).toContain(rest);
  });

  it('has names and the whole disk before anything is fetched', async () => {
    const [source, program] = ['https://files.example.com/tool', 'bytes of the tool'];
    const sha256 = createHash('sha256').update(program).digest('hex');
    const hotfix = { component: 'tool', version: '1.1', source, sha256, to: '/usr/bin/tool' };
    const platform = platformWith({ ...config, hotfixes: [hotfix] });
    platform.downloads.set(source, program);
    const system = lateMachine(platform);
    expect((await start(system)).report().phase).toBe('ready');
    const needed = system.commands.indexOf(
      'systemctl start systemd-resolved.service imago-grow-root.service',
    );
    const fetched = system.commands.findIndex((line) => line.startsWith('curl') && line.endsWith(source));
    expect(needed).toBeGreaterThanOrEqual(0);
    expect(fetched).toBeGreaterThan(needed);
  });
});

describe('verify', () => {
  const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  const bootstrap = { token: 'abcdef.0123456789abcdef' };
  const joining = { ...config, kubernetes: { apiServer: 'https://api.example.com', ca, bootstrap } };

  async function verify(system: MemorySystem): Promise<readonly string[]> {
    const lines: string[] = [];
    const modules = {} as QuickJsModules;
    await verbs.verify?.({ modules, system, version: '1', print: (line) => void lines.push(line) });
    return lines;
  }

  it('finds nothing wrong with a node that has a token and is not registered yet', async () => {
    const system = machine(platformWith(joining));
    await start(system);
    expect(system.facts('/var/lib/kubelet/bootstrap-kubeconfig')).toBeDefined();
    expect(await verify(system)).toEqual(['verified']);
  });

  it('does not look at a node that another run is at', async () => {
    const system = machine(platformWith(config));
    await start(system);
    const release = await system.lock('/run/imago/lock', 0);
    expect(await verify(system)).toEqual(['another run of the agent does not end']);
    release?.();
    expect(await verify(system)).toEqual(['verified']);
  });

  it('names what is not as the config says', async () => {
    const system = machine(platformWith(joining));
    await start(system);
    system.remove('/etc/motd');
    system.remove('/var/lib/kubelet/ca.crt');
    expect(await verify(system)).toEqual([
      '/etc/motd is not as the config says',
      '/var/lib/kubelet/ca.crt is not as the config says',
    ]);
  });
});

describe('the credentials for the first talk with the API server', () => {
  const bootstrap = '/var/lib/kubelet/bootstrap-kubeconfig';
  const certificate = '/var/lib/kubelet/pki/kubelet-client-current.pem';
  const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  const joining = (token: string) => ({
    ...config,
    kubernetes: { apiServer: 'https://api.example.com', ca, bootstrap: { token } },
  });

  it('stay, and can be replaced, until the kubelet has its certificate', async () => {
    const platform = platformWith(joining('abcdef.0123456789abcdef'));
    const system = machine(platform);
    const node = await start(system);
    // As the kubelet does at once.
    const own = `users: [{user: {client-certificate: ${certificate}}}]\n`;
    system.writeFile('/var/lib/kubelet/kubeconfig', own, { mode: 0o600 });
    await node.look();
    expect(system.readText(bootstrap)).toContain('0123456789abcdef');
    platform.userData = encode(joining('abcdef.fedcba9876543210'));
    system.commands.length = 0;
    await node.look();
    expect(node.report().error).toBeUndefined();
    expect(system.readText(bootstrap)).toContain('fedcba9876543210');
    expect(system.commands).toContain('systemctl try-restart kubelet.service');
    system.makeFolder('/var/lib/kubelet/pki');
    system.writeFile(certificate, 'a certificate\n', { mode: 0o600 });
    await node.look();
    expect(system.facts(bootstrap)).toBeUndefined();
  });
});

describe('a secret', () => {
  it('is in no report, log, record or command', async () => {
    const token = 'abcdef.0123456789abcdef';
    const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
    const kubernetes = { apiServer: 'https://api.example.com', ca, bootstrap: { token } };
    const platform = platformWith({ ...config, kubernetes });
    const system = machine(platform);
    const node = await start(system);
    expect(node.report().error).toBeUndefined();
    expect(system.readText('/var/lib/kubelet/bootstrap-kubeconfig')).toContain(token);
    platform.userData = encode({
      ...config,
      kubernetes: { ...kubernetes, bootstrap: { token: `${token}x` } },
    });
    await node.look();
    expect(node.report().error?.class).toBe('node-config-invalid');
    const told = [...node.lines, ...system.lines, ...system.commands].join('\n');
    expect(told).not.toContain('0123456789abcdef');
    const kept = Object.entries(system.snapshot()).filter(([, text]) => text.includes(token));
    expect(kept.map(([path]) => path)).toEqual(['/var/lib/kubelet/bootstrap-kubeconfig']);
  });
});
