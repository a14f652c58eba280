// The whole agent on a machine in memory: what it makes of a config, and what it says of it.
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
import { MachineDied, type MemorySystem, memorySystem } from '../../test/support/agent/memory-system.ts';
import type { NodeReport } from '../domain/node/report.ts';
import type { QuickJsModules } from './quickjs/modules.ts';
import { verbs } from './subcommands.ts';

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
    expect(files['/etc/containerd/config.toml']).toContain(
      'required_plugins = ["io.containerd.grpc.v1.cri"]',
    );
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

  it('reports a metadata service that never responds', async () => {
    const platform = { ...platformWith(config), trouble: Array<string>(500).fill('silent') };
    await expect(start(machine(platform))).rejects.toMatchObject({ code: 'node-metadata-unreachable' });
  });

  it('reverts everything if a service does not start, and starts nothing', async () => {
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

  it.each([
    ['a runtime that says itself when it serves', 'Type=notify\n', []],
    ['one that has to be asked', '', ['curl --silent --show-error']],
    ['one that is wrapped', 'Type=notify\n', ['curl --silent --show-error'], '[Service]\nType=exec\n'],
  ])('starts no program that could wait, with %s', async (_, type, asked, beside = '') => {
    const slice = '/sys/fs/cgroup/system.slice';
    const unit = '/usr/lib/systemd/system/containerd.service';
    const system = memorySystem({
      ...base,
      [unit]: `${base[unit]}${type}`,
      '/etc/systemd/system/containerd.service.d/10-own.conf': beside,
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
      ...[...asked, 'bash -c LC_ALL=C;'],
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

  it('is not made if the disk fails before the config is recorded, and reports it', async () => {
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

describe('what the kubelet needs of the runtime', () => {
  const cri = 'io.containerd.grpc.v1.cri';

  it.each([
    ['version = 2\n', `required_plugins = ["${cri}"]`],
    ['version = 3\nrequired_plugins = []\n', `required_plugins = ["${cri}"]`],
    ['version = 2\nrequired_plugins = ["other"]\n', `required_plugins = ["other","${cri}"]`],
    [`version = 2\nrequired_plugins = ['${cri}']\n`, `required_plugins = ['${cri}']`],
    ['version = 2\nrequired_plugins = [\n  "other",\n]\n', 'required_plugins = [\n  "other",\n]'],
    ['version = 1\n', undefined],
  ])('is required beside what the image requires: %j', async (given, required) => {
    const system = memorySystem({ ...base, '/etc/containerd/config.toml': given });
    connect(system, platformWith(config));
    expect((await start(system)).report().phase).toBe('ready');
    const text = system.readText('/etc/containerd/config.toml') ?? '';
    expect(text.split('required_plugins')).toHaveLength(required === undefined ? 1 : 2);
    expect(text).toContain(required ?? 'version = 1');
  });
});

describe('a unit that never starts', () => {
  const unit = { name: 'slow.service', state: 'enabled', content: '[Service]\nExecStart=/bin/sleep 9\n' };

  it('that systemd does not report is reported after a timeout, with everything reverted', async () => {
    const platform = platformWith({ ...config, units: [unit] });
    const system = machine(platform);
    const before = nodeFiles(system);
    platform.hanging.add('slow.service');
    const { report } = await start(system);
    expect(report()).toMatchObject({ phase: 'failed', error: { class: 'node-service-failed' } });
    expect(report().error?.message).toContain('nothing for 300 s');
    expect(nodeFiles(system)).toEqual(before);
  });

  it('but reports that it will is waited for, but not indefinitely', async () => {
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

  it('repairs what another user changed', async () => {
    const system = machine(platformWith(config));
    const node = await start(system);
    system.remove('/etc/motd');
    await node.look(true);
    expect(system.readText('/etc/motd')).toBe('hello\n');
    expect(system.commands).toContain('systemctl try-restart containerd.service');
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
    expect(await verify(system)).toEqual(['another run of the agent does not finish']);
    release?.();
    expect(await verify(system)).toEqual(['verified']);
  });

  it('names what does not match the config', async () => {
    const system = machine(platformWith(joining));
    await start(system);
    system.remove('/etc/motd');
    system.remove('/var/lib/kubelet/ca.crt');
    expect(await verify(system)).toEqual([
      '/etc/motd does not match the config',
      '/var/lib/kubelet/ca.crt does not match the config',
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
    // As the kubelet does immediately.
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
