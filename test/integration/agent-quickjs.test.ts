// The agent as it is on images: its bundle in QuickJS, with real files, locks, requests and kills.
import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardMetadata } from '../../src/agent/metadata/guard.ts';
import { readFrames } from '../../src/domain/node/console-frame.ts';
import type { NodeConfig } from '../../src/domain/node-config/schema.ts';
import { withWords } from '../../src/domain/node-config/words.ts';
import { memorySystem } from '../support/agent/memory-system.ts';
import { type AgentSandbox, agentSandbox } from '../support/agent-sandbox.ts';
import { testCertificate, testKey } from '../support/tls-fixture.ts';
import { until } from '../support/until.ts';

const canUnshare = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0;

const config: NodeConfig = {
  schemaVersion: 1,
  node: { name: 'web-1' },
  system: { sysctl: { 'vm.max_map_count': 262_144 } },
  files: [{ path: '/etc/motd', content: 'grüße\n', mode: '0664' }],
  runtime: { mirrors: { 'registry.example.com': ['https://mirror.example.com'] } },
};

function encode(document: unknown): string {
  return Buffer.from(JSON.stringify(document)).toString('base64');
}

let sandbox: AgentSandbox;
beforeEach(async () => {
  sandbox = await agentSandbox();
  sandbox.platform.userData = encode(config);
});
afterEach(() => sandbox.close());

/** Every file of the machine with what would tell that it was touched. */
function disk(): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const folder of ['etc', 'var/lib', 'home', 'proc/sys']) {
    const root = sandbox.path(folder);
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      const { mtimeMs, ino, mode } = lstatSync(file);
      if (entry.isFile())
        found[path.relative(sandbox.path('/'), file)] = `${mtimeMs} ${ino} ${mode.toString(8)}`;
    }
  }
  return found;
}

describe.runIf(canUnshare)('the agent in QuickJS', () => {
  it('makes a node, tells the platform, and then finds nothing to do, ten times', async () => {
    expect(await sandbox.run('apply')).toMatchObject({ exitCode: 0, stdout: 'ready\n' });
    expect(sandbox.read('/etc/motd')).toBe('grüße\n');
    expect(statSync(sandbox.path('/etc/motd')).mode & 0o777).toBe(0o664);
    expect(sandbox.read('/proc/sys/vm/max_map_count')).toMatch(/^262144/);
    expect(sandbox.read('/proc/sys/kernel/hostname')).toMatch(/^web-1/);
    expect(sandbox.platform.health).toHaveLength(1);
    expect(sandbox.report()).toMatchObject({ phase: 'ready', machineId: 'machine-1' });
    const before = disk();
    sandbox.clearCommands();
    const script = 'for i in 1 2 3 4 5 6 7 8 9 10; do imago-agent apply; done';
    expect((await sandbox.script(script)).stdout).toBe('nothing to do\n'.repeat(10));
    expect(disk()).toEqual(before);
    expect(new Set(sandbox.commands())).toEqual(new Set(['systemctl is-active containerd.service']));
    expect(await sandbox.run('verify')).toMatchObject({ exitCode: 0, stdout: 'verified\n' });
    expect((await sandbox.run('plan')).stdout).toBe('nothing to do\n');
    expect(disk()).toEqual(before);
    writeFileSync(sandbox.path('/etc/motd'), 'changed by hand');
    expect((await sandbox.run('verify')).stdout).toBe('/etc/motd does not match the config\n');
    expect((await sandbox.run('apply')).stdout).toBe('ready\n');
    expect(sandbox.read('/etc/motd')).toBe('grüße\n');
  });

  it('fetches the first credentials with the machine’s identity, from a server that only the config trusts', async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer({ key: testKey, cert: testCertificate }, (request, response) => {
      asked.push(request.headers.authorization);
      response.end('kind: Config\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    writeFileSync(sandbox.path('/etc/systemd/system/kubelet.service'), '[Service]\nExecStart=/bin/true\n');
    const wanted = {
      ...config,
      kubernetes: {
        ...{ apiServer: address, ca: testCertificate },
        bootstrap: { identity: { url: `${address}/bootstrap`, resource: 'api://cluster' } },
      },
      units: [{ name: 'kubelet.service', state: 'masked' }],
    };
    sandbox.platform.userData = encode(wanted);
    expect(await sandbox.run('apply')).toMatchObject({ exitCode: 1 });
    expect(sandbox.report()).toMatchObject({ phase: 'failed', error: { class: 'download-failed' } });
    expect(asked).toEqual([]);
    sandbox.platform.userData = encode({ ...wanted, trust: [{ name: 'own', certificate: testCertificate }] });
    expect(await sandbox.run('apply')).toMatchObject({ exitCode: 0, stdout: 'ready\n' });
    server.close();
    expect(asked).toEqual(['Bearer token of machine-1 for api://cluster']);
    expect(sandbox.read('/var/lib/kubelet/bootstrap-kubeconfig')).toBe('kind: Config\n');
    expect(statSync(sandbox.path('/var/lib/kubelet/bootstrap-kubeconfig')).mode & 0o777).toBe(0o600);
  });

  it('is another machine on a copied disk: with its own config, and no container of the donor', async () => {
    await sandbox.run('apply');
    const database = '/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db';
    for (const file of [database, '/var/lib/kubelet/kubeconfig']) {
      mkdirSync(path.dirname(sandbox.path(file)), { recursive: true });
      writeFileSync(sandbox.path(file), 'donor');
    }
    rmSync(sandbox.path('/run/imago'), { recursive: true });
    sandbox.clearCommands();
    sandbox.platform.machineId = 'machine-2';
    sandbox.platform.userData = encode({ ...config, node: { name: 'web-2' }, files: [] });
    expect(await sandbox.run('apply')).toMatchObject({ exitCode: 0, stdout: 'ready\n' });
    expect(sandbox.report()).toMatchObject({ phase: 'ready', machineId: 'machine-2', pending: [] });
    expect(sandbox.read('/etc/hostname')).toBe('web-2\n');
    for (const gone of ['/etc/motd', '/var/lib/kubelet/kubeconfig', '/var/lib/imago/foreign-containers']) {
      expect(sandbox.read(gone), gone).toBeUndefined();
    }
    const commands = sandbox.commands();
    const deleted = commands.indexOf('ctr --namespace k8s.io containers delete donors');
    expect(commands[deleted + 1]).toBe('systemctl restart containerd.service');
    expect(sandbox.platform.health).toHaveLength(2);
    expect((await sandbox.run('verify')).stdout).toBe('verified\n');
  });

  it('goes back to the last good config when a unit does not start', async () => {
    await sandbox.run('apply');
    const unit = { name: 'bad.service', state: 'enabled', content: '[Service]\nExecStart=/bin/false\n' };
    sandbox.platform.userData = encode({ ...config, units: [unit], files: [] });
    writeFileSync(path.join(sandbox.folder, 'broken'), 'bad.service\n');
    const { exitCode, stdout } = await sandbox.run('apply');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('bad.service');
    expect(sandbox.read('/etc/motd')).toBe('grüße\n');
    expect(sandbox.read('/etc/systemd/system/bad.service')).toBeUndefined();
    expect(sandbox.report()).toMatchObject({ phase: 'ready', error: { class: 'node-service-failed' } });
    expect(
      readdirSync(sandbox.path('/etc'), { recursive: true }).filter((name) => /imago-new/.test(String(name))),
    ).toEqual([]);
  });

  it('ends the same, whenever it was killed', async () => {
    await sandbox.run('apply');
    for (const killAfterMs of [20, 60, 120, 200, 300, 450]) {
      const content = `killed after ${killAfterMs}\n`;
      sandbox.platform.userData = encode({ ...config, files: [{ path: '/etc/motd', content }] });
      await sandbox.run('apply', { killAfterMs });
      expect([0, 1]).toContain((await sandbox.run('apply')).exitCode);
      expect(sandbox.read('/etc/motd')).toBe(content);
      expect(sandbox.report()).toMatchObject({ phase: 'ready' });
      expect(readdirSync(sandbox.path('/var/lib/imago'))).not.toContain('journal');
    }
  });

  it('is done by one at a time', async () => {
    const both = await Promise.all([sandbox.run('apply'), sandbox.run('apply')]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(sandbox.read('/etc/motd')).toBe('grüße\n');
  });

  it('follows a change of userData as a service, in little memory', async () => {
    writeFileSync(sandbox.path('/etc/hosts'), '127.0.0.1 localhost\n');
    execFileSync('mkdir', ['-p', sandbox.path('/etc/imago')]);
    writeFileSync(sandbox.path('/etc/imago/agent.json'), JSON.stringify({ pollMs: 100 }));
    const service = sandbox.start('run');
    await until('it is ready', () => sandbox.report()?.phase === 'ready');
    sandbox.platform.userData = encode({ ...config, files: [{ path: '/etc/motd', content: 'live\n' }] });
    await until('the change is applied', () => sandbox.read('/etc/motd') === 'live\n');
    sandbox.platform.userData = 'not base64';
    await until('it reports an error', () => sandbox.report()?.error !== undefined);
    expect(sandbox.report()).toMatchObject({ phase: 'ready', error: { class: 'node-config-invalid' } });
    sandbox.platform.userData = encode(config);
    await until(
      'it has recovered',
      () => sandbox.read('/etc/motd') === 'grüße\n' && sandbox.report()?.error === undefined,
    );
    const resident = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1];
    expect(Number(resident)).toBeLessThan(16 * 1024);
    service.kill('SIGKILL');
  });

  it('reports on the serial console if it has no port, and runs a script of its userData once', async () => {
    writeFileSync(sandbox.path('/run/console'), 'login: ');
    const script = { id: 'c1', script: 'echo "größe $$" | tee -a /run/ran; exit 3', timeoutMs: 10_000 };
    execFileSync('mkdir', ['-p', sandbox.path('/etc/imago')]);
    writeFileSync(sandbox.path('/etc/imago/agent.json'), JSON.stringify({ pollMs: 100 }));
    const said = (kind: 'report' | 'answer') =>
      readFrames(kind, (sandbox.read('/run/console') ?? '').split('\n')).map((text) => JSON.parse(text));
    const service = sandbox.start('run');
    await until('its report is there', () => said('report').at(-1)?.phase === 'ready');
    expect(said('report').at(-1)).toEqual(sandbox.report());
    const text = withWords(JSON.stringify(config), { command: script });
    sandbox.platform.userData = Buffer.from(text).toString('base64');
    await until('the answer is there', () => said('answer').length > 0);
    expect(said('answer')).toEqual([
      { id: 'c1', exitCode: 3, stdout: expect.stringMatching(/^größe /), stderr: '' },
    ]);
    service.kill('SIGKILL');
    const again = sandbox.start('run');
    sandbox.platform.userData = encode({ ...config, files: [{ path: '/etc/motd', content: 'live\n' }] });
    await until('the agent runs again', () => sandbox.read('/etc/motd') === 'live\n');
    expect(sandbox.read('/run/ran')?.trim().split('\n')).toHaveLength(1);
    again.kill('SIGKILL');
  });

  it('keeps within its size on an image', () => {
    const files = readdirSync(path.join(sandbox.folder, 'agent'), { recursive: true, withFileTypes: true });
    const sizes = files
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(path.join(entry.parentPath, entry.name)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1024 * 1024);
  });
});

describe.runIf(canUnshare)('the metadata service', () => {
  it('is reached by the machine and closed to what it passes on for pods', async () => {
    const system = memorySystem();
    let rules = '';
    system.program((_, { input = '' }) => {
      rules = input;
      return {};
    });
    await guardMetadata(system, true);
    const answers = execFileSync(
      'unshare',
      [
        ...['--user', '--map-root-user', '--net', 'sh', '-ec'],
        `ip link set lo up
        ip link add eth0 type bridge && ip address add 10.0.0.4/24 dev eth0 && ip link set eth0 up
        ip route add default via 10.0.0.1
        ip link add pod0 type bridge && ip address add 10.8.0.1/24 dev pod0 && ip link set pod0 up
        echo 1 >/proc/sys/net/ipv4/ip_forward
        look() { ip route get "$@" >/dev/null 2>&1 && echo open || echo closed; }
        for round in before after again; do
          look 169.254.169.254
          look 169.254.169.254 from 10.8.0.2 iif pod0
          look 10.0.0.9 from 10.8.0.2 iif pod0
          look 168.63.129.16 from 10.8.0.2 iif pod0 ipproto tcp dport 80
          look 168.63.129.16 from 10.8.0.2 iif pod0 ipproto udp dport 53
          printf '%s' "$1" | ip -force -batch - 2>/dev/null || true
        done`,
        'sh',
        rules,
      ],
      { encoding: 'utf8' },
    );
    const open = ['open', 'open', 'open', 'open', 'open'];
    const guarded = ['open', 'closed', 'open', 'closed', 'open'];
    expect(answers.trim().split('\n')).toEqual([...open, ...guarded, ...guarded]);
  });
});
