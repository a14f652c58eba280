// Hotfixes and what an image puts off until the node is ready, on a machine in memory.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
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
} from '../../test/support/agent/memory-node.ts';
import { type MemorySystem, memorySystem } from '../../test/support/agent/memory-system.ts';

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

  it('is installed once, and removed again with the previous content restored', async () => {
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

  it('starts once, after the node is ready and before a platform that may not exist is notified', async () => {
    const system = lateMachine({ ...platformWith(config), hasWireServer: false });
    const node = await start(system);
    expect(node.report().phase).toBe('ready');
    expect(node.beforeReady).not.toContain(rest);
    expect(system.commands.indexOf(rest)).toBe(system.commands.length - 2);
    expect(system.commands.at(-1)).toMatch(/^curl/);
    await node.look();
    expect(system.commands.filter((line) => line === rest)).toHaveLength(1);
  });

  it('starts even if the node has failed, for debugging', async () => {
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
