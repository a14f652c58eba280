// The agent on a real machine, from an image as the product builds it: from power-on to ready, a config that changes
// while it runs, applies with nothing to do, a kill; and the same disk in another machine.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NodeReport } from '../../src/domain/node/report.ts';
import { openMachineHost } from '../../src/providers/local/host/open.ts';
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import {
  type AgentImage,
  type AgentMachine,
  buildAgentImage,
  startAgentMachine,
} from '../support/agent-machine.ts';
import { patience } from '../support/speed.ts';

const document = {
  schemaVersion: 1,
  system: { sysctl: { 'vm.max_map_count': 262_144 } },
  files: [{ path: '/etc/motd', content: 'hello\n' }],
  users: [{ name: 'ann', uid: 2000 }],
};

let folder: string;
let host: MachineHost;
let image: AgentImage;
let machine: AgentMachine;
let first: NodeReport;
let donor: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-am-'));
  image = await buildAgentImage(folder);
  host = await openMachineHost({
    folder: join(folder, 'host'),
    socketFolder: join(folder, 's'),
    accelerator: { name: 'tcg', reason: 'the test says so' },
  });
});
afterAll(async () => {
  await host.close({ leaveRunning: false, deadlineMs: 1000 });
  await rm(folder, { recursive: true, force: true });
});

async function lines(script: string): Promise<readonly string[]> {
  const { stdout } = await machine.run(script);
  return stdout.trim().split('\n');
}

/** All but the last bytes are taken without being written. */
const fillDisk =
  "fallocate -l $(( $(stat -f -c '%f * %S' /) - 4194304 )) /var/fill; dd if=/dev/zero of=/var/rest bs=64k; sync";

/** What makes a machine itself. Its key is made once the node is ready. */
const key = '/etc/ssh/ssh_host_ed25519_key.pub';
const identity = `until [ -s ${key} ]; do sleep 1; done; cat /etc/machine-id ${key} /var/lib/imago/identity.json`;

describe('a machine with the agent', () => {
  it('becomes the node that its config says, and tells it with a timeline', async () => {
    machine = await startAgentMachine(host, image, { folder, name: 'one', document });
    first = await machine.reported(({ phase }) => phase === 'ready' || phase === 'failed');
    expect(first).toMatchObject({ phase: 'ready', pending: [] });
    expect(first.error).toBeUndefined();
    const { timeline } = await machine.reported((report) =>
      report.timeline.some(({ name }) => name === 'userspace'),
    );
    // On a busy computer the platform's answer may come too late; it is told again after a minute.
    const health = async () => (await host.status('one')).health?.state;
    await expect.poll(health, { timeout: patience(180_000), interval: 500 }).toBe('Ready');
    const order = timeline.map(({ name }) => name);
    for (const name of ['kernel', 'userspace', 'agent', 'network', 'config read', 'runtime', 'ready']) {
      expect(order).toContain(name);
    }
    expect(
      await lines(
        'cat /etc/hostname /proc/sys/kernel/hostname /proc/sys/vm/max_map_count /etc/motd; id -u ann',
      ),
    ).toEqual(['one', 'one', '262144', 'hello', '2000']);
    // The second part of the system starts once the node is ready.
    await machine.run('systemctl start imago-late.target');
    const units = 'containerd ssh imago-agent imago-commands imago-shell';
    await expect
      .poll(() => lines(`systemctl is-active ${units}`), { timeout: patience(60_000), interval: 1000 })
      .toEqual(Array(5).fill('active'));
    expect(
      await lines(
        'systemctl --failed --no-legend --plain | grep -i imago; ctr version >/dev/null && echo answers',
      ),
    ).toEqual(['answers']);
  });

  it('finds nothing to do ten times, with no file and no service touched', async () => {
    const seen = [
      'find /etc /usr /var/lib/imago -xdev -type f -printf "%p %T@ %C@ %i\\n" | sort | sha256sum',
      'systemctl show --property=ActiveEnterTimestampMonotonic containerd ssh imago-agent',
    ].join('; ');
    const before = await lines(seen);
    expect(await lines('for i in 1 2 3 4 5 6 7 8 9 10; do imago-agent apply; done')).toEqual(
      Array(10).fill('nothing to do'),
    );
    expect(await lines(seen)).toEqual(before);
    expect(await lines('imago-agent verify')).toEqual(['verified']);
  });

  it('takes a config that changes while it runs when it is told to look, and restarts nothing for it', async () => {
    const { at: last } = await machine.reported(() => true);
    await machine.run(`echo '{"pollMs": 3600000}' >/etc/imago/agent.json; systemctl restart imago-agent`);
    await machine.reported(({ phase, at }) => phase === 'ready' && at > last);
    const state = 'systemctl show --property=MainPID containerd ssh';
    const before = await lines(state);
    await machine.setConfig({ ...document, system: { sysctl: { 'vm.max_map_count': 300_000 } } });
    const report = await machine.reported(
      ({ config }) => config !== undefined && config.digest !== first.config?.digest,
    );
    expect(report).toMatchObject({ phase: 'ready', pending: [] });
    expect(await lines('cat /proc/sys/vm/max_map_count')).toEqual(['300000']);
    expect(await lines(state)).toEqual(before);
  });

  it('says why it refuses one that it cannot use, and goes on as it was', async () => {
    await machine.setConfig({ schemaVersion: 1, requires: ['flying'] });
    const report = await machine.reported(({ error }) => error !== undefined);
    expect(report).toMatchObject({ phase: 'ready', error: { class: 'node-config-requires' } });
    await machine.setConfig(document);
    await machine.reported(
      ({ error, config }) => error === undefined && config?.digest === first.config?.digest,
    );
  });

  it('has a change that needs a drain wait, and does it when there is room', async () => {
    const wanted = { ...document, system: { ...document.system, swapMiB: 32 } };
    await machine.setConfig(wanted);
    const { waiting } = await machine.reported((report) => report.waiting !== undefined);
    expect(waiting?.for).toBe('drain');
    expect(await lines('tail -n +2 /proc/swaps')).toEqual(['']);
    await host.tellAgent('one', { kind: 'allow', cost: 'drain', digest: waiting?.digest ?? '' });
    const report = await machine.reported(({ config }) => config?.digest === waiting?.digest);
    expect(report).toMatchObject({ phase: 'ready', pending: [] });
    expect(await lines('tail -n +2 /proc/swaps | cut -d" " -f1; imago-agent verify')).toEqual([
      '/var/lib/imago/swap',
      'verified',
    ]);
    await machine.setConfig(document);
    const { waiting: back } = await machine.reported(
      (one) => one.waiting !== undefined && one.waiting.digest !== waiting?.digest,
    );
    await host.tellAgent('one', { kind: 'allow', cost: 'drain', digest: back?.digest ?? '' });
    await machine.reported(({ config }) => config?.digest === back?.digest);
    expect(await lines('tail -n +2 /proc/swaps; ls /var/lib/imago')).not.toContain('swap');
  });

  it('goes on as it was when a fetch, a unit or the disk fails it, and says which', async () => {
    const large = Buffer.alloc(8 * 1_048_576);
    const server = createServer(({ url }, response) =>
      response.end(url === '/large' ? large : 'something else'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const hotfix = { component: 'tool', version: '1', sha256: 'a'.repeat(64), to: '/usr/local/bin/tool' };
    const hang = '[Service]\nType=notify\nExecStart=/bin/sleep 999\nTimeoutStartSec=3\n';
    const faults = [
      ['input-mismatch', { hotfixes: [{ ...hotfix, source: `http://168.63.129.1:${port}/tool` }] }, 'sha256'],
      ['download-failed', { hotfixes: [{ ...hotfix, source: 'http://168.63.129.1:1/tool' }] }, ':1/tool'],
      ['node-service-failed', { units: [{ name: 'hang.service', state: 'enabled', content: hang }] }, 'hang'],
      ['node-disk-full', { files: [{ path: '/etc/big', content: 'x'.repeat(30_000) }] }, 'no space'],
      [
        'node-disk-full',
        { hotfixes: [{ ...hotfix, source: `http://168.63.129.1:${port}/large` }] },
        'load|tool',
      ],
    ] as const;
    const seen = 'cat /etc/motd; ls /usr/local/bin /etc/systemd/system/hang.service /etc/big 2>/dev/null';
    const before = await lines(seen);
    for (const [code, change, says] of faults) {
      if (code === 'node-disk-full') await machine.run(fillDisk);
      await machine.setConfig({ ...document, ...change });
      const report = await machine.reported(
        ({ error }) => error?.class === code && new RegExp(says).test(error.message),
      );
      expect(report).toMatchObject({ phase: 'ready', config: first.config });
      expect(await lines(seen), code).toEqual(before);
    }
    server.close();
    await machine.run('rm /var/fill /var/rest');
    await machine.setConfig(document);
    await machine.reported(({ error }) => error === undefined);
  });

  it('comes back when it is killed, in little memory', async () => {
    const [pid] = await lines('systemctl show --property=MainPID --value imago-agent');
    await machine.run(`kill -9 ${pid}`);
    await machine.reported(({ phase, at }) => phase === 'ready' && at > first.at);
    const [resident] = await lines(
      'until p=$(systemctl show --property=MainPID --value imago-agent) && [ "$p" != 0 ]; do sleep 1; done; grep VmRSS /proc/$p/status | tr -dc 0-9',
    );
    expect(Number(resident)).toBeLessThan(16 * 1024);
    donor = (await lines(identity)).join('\n');
  });

  it('is another one when its disk is another machine’s', async () => {
    const planted = [
      'mkdir -p /var/lib/kubelet && echo secret >/var/lib/kubelet/kubeconfig',
      'ctr -n k8s.io containers create --rootfs /usr donors',
      'ctr -n k8s.io containers list -q; sync',
    ];
    expect(await lines(planted.join('; '))).toEqual(['donors']);
    expect(await host.stop('one', { deadlineMs: 240_000 })).toEqual({ forced: false });
    machine = await startAgentMachine(host, image, {
      // For the donor itself another name would need a new disk.
      ...{ folder, name: 'two', document: { ...document, node: { name: 'other' }, files: [] } },
      disk: join(folder, 'one', 'disk.qcow2'),
    });
    const report = await machine.reported(({ phase }) => phase === 'ready' || phase === 'failed');
    expect(report).toMatchObject({ phase: 'ready', pending: [] });
    expect(report.machineId).not.toBe(first.machineId);
    const own = await lines(identity);
    expect(own).toHaveLength(3);
    for (const one of own) expect(donor).not.toContain(one);
    const left =
      'ls /var/lib/kubelet/kubeconfig /var/lib/imago/foreign-containers 2>/dev/null; grep hello /etc/motd';
    expect(await lines(`cat /etc/hostname; ${left}; ctr -n k8s.io containers list -q`)).toEqual(['other']);
    // What hears the power button starts after the node is ready.
    expect(await host.stop('two', { deadlineMs: 240_000 })).toEqual({ forced: false });
  });
});
