// A disk that was copied from another machine: nothing of that one is used, and the two are never confused.
import { describe, expect, it } from 'vitest';
import {
  base,
  config,
  connect,
  encode,
  type MemoryNode,
  type MemoryPlatform,
  machine,
  nodeFiles,
  platformWith,
  start,
} from '../../test/support/agent/memory-node.ts';
import { MachineDied, type MemorySystem, memorySystem } from '../../test/support/agent/memory-system.ts';
import type { NodeConfig } from '../domain/node-config/schema.ts';

const database = '/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db';

/** A node that ran for a while, with what is left on its disk. */
async function donor(): Promise<{ system: MemorySystem; platform: MemoryPlatform }> {
  const platform = platformWith(config);
  const system = memorySystem({ ...base, '/usr/bin/ssh-keygen': '', [database]: '' });
  connect(system, platform);
  await start(system);
  for (const path of [
    ...['/var/lib/kubelet/kubeconfig', '/var/lib/kubelet/pki/key.pem', '/etc/ssh/ssh_host_rsa_key'],
    ...['/etc/machine-id', '/var/lib/imago/attempts.json'],
  ]) {
    system.makeFolder(path.slice(0, path.lastIndexOf('/')));
    system.writeFile(path, 'donor\n', { mode: 0o600 });
  }
  for (const id of ['sandbox', 'container']) platform.containers.add(id);
  await system.run(['sync', '--', '/etc', '/var/lib/imago/attempts.json', '/etc/ssh/ssh_host_rsa_key']);
  return { system, platform };
}

/** The copy of its disk in another machine, with that machine's config. */
async function cloned(document: unknown = config) {
  const { system, platform } = await donor();
  becomeClone(system, platform, document);
  return { system, platform, node: await start(system) };
}

function becomeClone(system: MemorySystem, platform: MemoryPlatform, document: unknown): void {
  system.powerCut(0);
  platform.machineId = 'machine-2';
  platform.userData = encode(document);
  connect(system, platform);
  system.commands.length = 0;
}

describe('a clone', () => {
  it('gets an identity of its own before anything starts', async () => {
    const { system, platform, node } = await cloned();
    expect(node.report()).toMatchObject({ phase: 'ready', machineId: 'machine-2' });
    expect(system.readText('/etc/machine-id')).toBe('0f0e0d0c0b0a49088706050403020100\n');
    expect(Object.values(system.snapshot()).filter((text) => text.includes('donor'))).toEqual([]);
    const made = system.commands.findIndex((line) => line.startsWith('ssh-keygen'));
    const started = system.commands.findIndex((line) => line.startsWith('systemctl start'));
    expect(made).toBeGreaterThanOrEqual(0);
    expect(made).toBeLessThan(started);
    expect(platform.health).toHaveLength(2);
  });

  it('is what its own config says, also where the donor would have needed a new disk for that', async () => {
    const own: NodeConfig = { ...config, node: { name: 'web-2' }, files: [], users: [] };
    const { system, node } = await cloned(own);
    expect(node.report()).toMatchObject({ phase: 'ready', pending: [] });
    expect(node.report().waiting).toBeUndefined();
    expect(system.readText('/etc/hostname')).toBe('web-2\n');
    expect(system.readText('/proc/sys/kernel/hostname')).toBe('web-2');
    expect(system.readText('/etc/motd')).toBeUndefined();
    expect(system.readText('/etc/sudoers.d/imago-ann')).toBeUndefined();
    expect(system.readText('/etc/passwd')).toContain('ann:x:1000:1000::/home/ann:/usr/sbin/nologin');
  });

  it('has no identity if its config is refused: not ready, nothing started, no name of the donor', async () => {
    const { system, platform, node } = await cloned({ ...config, requires: ['flying'] });
    expect(node.report()).toMatchObject({ phase: 'failed', error: { class: 'node-config-requires' } });
    expect(node.report().config).toBeUndefined();
    expect(platform.health.at(-1)).toContain('<State>NotReady</State>');
    expect(system.commands.some((line) => /^systemctl start .*(?:containerd|kubelet)/.test(line))).toBe(
      false,
    );
    expect(system.readText('/etc/hostname')).toBe('from-metadata\n');
    expect(system.readText('/proc/sys/kernel/hostname')).toBe('from-metadata');
  });

  it('has no container of the donor when its kubelet starts', async () => {
    const { system, platform } = await donor();
    becomeClone(system, platform, config);
    const left: number[] = [];
    const watched: MemorySystem = {
      ...system,
      run: (command, options) => {
        if (command[1] === 'start' && command.includes('kubelet.service'))
          left.push(platform.containers.size);
        return system.run(command, options);
      },
    };
    expect((await start(watched)).report().phase).toBe('ready');
    expect(left).toEqual([0]);
    expect(system.commands).toContain('systemctl restart containerd.service');
    platform.containers.add('its own');
    system.powerCut(0);
    connect(system, platform);
    expect((await start(system)).report().phase).toBe('ready');
    expect([...platform.containers]).toEqual(['its own']);
  });

  it('keeps containers of its own that it had when the power was cut as its kubelet started', async () => {
    const { system, platform } = await donor();
    becomeClone(system, platform, config);
    const dying: MemorySystem = {
      ...system,
      run: (command, options) => {
        if (command[1] === 'start' && command.includes('kubelet.service')) system.dieAt(1, 'after');
        return system.run(command, options);
      },
    };
    await expect(start(dying)).rejects.toBeInstanceOf(MachineDied);
    platform.containers.add('its own');
    system.powerCut(0);
    connect(system, platform);
    expect((await start(system)).report().phase).toBe('ready');
    expect([...platform.containers]).toEqual(['its own']);
  });

  it('is not ready while the containers of the donor cannot be removed', async () => {
    const { system, platform } = await donor();
    platform.answers.set('ctr', { exitCode: 1, stderr: 'ctr: no' });
    becomeClone(system, platform, config);
    const node = await start(system);
    expect(node.report()).toMatchObject({
      phase: 'failed',
      error: { class: 'node-apply-failed', retry: true },
    });
    platform.answers.clear();
    await node.look(true);
    expect(node.report().phase).toBe('ready');
    expect([...platform.containers]).toEqual([]);
  });

  it('ends up the same wherever the power is cut', async () => {
    const whole = await cloned({ ...config, node: { name: 'web-2' } });
    const target = nodeFiles(whole.system);
    for (let call = 1; ; call += 1) {
      const { system, platform } = await donor();
      becomeClone(system, platform, { ...config, node: { name: 'web-2' } });
      system.dieAt(call, 'after');
      const survived = await start(system).then(
        () => true,
        (thrown: unknown) => {
          if (!(thrown instanceof MachineDied)) throw thrown;
          return false;
        },
      );
      system.powerCut(call % 4);
      connect(system, platform);
      const { report }: MemoryNode = await start(system);
      expect(report(), `cut at ${call}`).toMatchObject({
        phase: 'ready',
        machineId: 'machine-2',
        pending: [],
      });
      expect(nodeFiles(system), `cut at ${call}`).toEqual(target);
      expect([...platform.containers], `cut at ${call}`).toEqual([]);
      if (survived) break;
    }
  });

  it('does not continue the pending config of the donor', async () => {
    const { system, platform } = await donor();
    platform.userData = encode({ ...config, files: [{ path: '/etc/motd', content: 'half way\n' }] });
    const deadly: MemorySystem = {
      ...system,
      rename: (from, to) => {
        if (to === '/etc/motd') system.dieAt(1, 'after');
        system.rename(from, to);
      },
    };
    await expect(start(deadly)).rejects.toBeInstanceOf(MachineDied);
    becomeClone(system, platform, { ...config, node: { name: 'web-2' } });
    expect((await start(system)).report()).toMatchObject({ phase: 'ready' });
    expect(system.readText('/etc/motd')).toBe('hello\n');
    expect(system.facts('/var/lib/imago/journal')).toBeUndefined();
  });
});

it('a machine that is not a clone keeps its containers', async () => {
  const platform = platformWith(config);
  const system = machine(platform);
  await start(system);
  system.powerCut(0);
  connect(system, platform);
  system.commands.length = 0;
  await start(system);
  expect(system.commands.some((line) => line.startsWith('ctr'))).toBe(false);
});
