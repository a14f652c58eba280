// Every built-in check passes on a good system and is shown able to fail on a broken one.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { type NodeReport, nodeReportSchema } from '../node/report.ts';
import { pairChecks, restartChecks } from './compare-checks.ts';
import { diskChecks } from './disk-checks.ts';
import type { CheckResult, DiskFacts, DiskFile, MachineFacts, ProbeAnswer } from './image-check.ts';
import { junitReport } from './junit.ts';
import { machineChecks } from './machine-checks.ts';
import { probeScript, readProbes } from './probe-script.ts';
import { reportChecks } from './report-checks.ts';

function file(path: string, more: Partial<DiskFile> = {}): DiskFile {
  return { path, type: 'file', mode: 0o644, size: 10, ...more };
}

const good: DiskFacts = {
  release: { IMAGE: 'node', LOCK: `sha256:${'a'.repeat(64)}`, KUBERNETES: '1.34.2' },
  kernel: { version: '6.12.1', installed: ['6.12.1'] },
  sizes: { diskBytes: 2 ** 30, fileBytes: 400 * 2 ** 20 },
  packages: [{ name: 'runc', version: '1.1', architecture: 'amd64' }],
  files: [
    file('/etc/machine-id', { size: 0 }),
    file('/usr/bin/su', { mode: 0o4755 }),
    file('/usr/bin/kubelet', { mode: 0o755, sha256: 'c'.repeat(64) }),
    file('/usr/lib/cni/bridge', { package: 'cni' }),
    file('/usr/lib/cni/host-local', { package: 'cni' }),
    file('/tmp', { type: 'directory', mode: 0o1777 }),
  ],
  units: [...['imago-agent', 'containerd', 'kubelet', 'ssh', 'systemd-timesyncd', 'systemd-random-seed']].map(
    (name) => ({ name: `${name}.service`, state: 'enabled' }),
  ),
  settings: {
    sysctl: { 'net.ipv4.ip_forward': '1' },
    modules: ['br-netfilter'],
    kernelArguments: ['quiet'],
    users: [{ name: 'root', uid: 0, hasPassword: false }],
  },
  containerImages: [{ name: 'example.com/pause:3', digest: `sha256:${'d'.repeat(64)}` }],
};

const withFiles = (...files: readonly DiskFile[]): DiskFacts => ({
  ...good,
  files: [...good.files, ...files],
});
const withUsers = (name: string, uid: number, hasPassword: boolean): DiskFacts => ({
  ...good,
  settings: { ...good.settings, users: [...good.settings.users, { name, uid, hasPassword }] },
});

const brokenDisks: Readonly<Record<string, DiskFacts>> = {
  'disk-machine-id': { ...good, files: [file('/etc/machine-id', { size: 33, sha256: 'e'.repeat(64) })] },
  'disk-host-keys': withFiles(file('/etc/ssh/ssh_host_ed25519_key')),
  'disk-credentials': withFiles(file('/root/.kube/config')),
  'disk-histories': withFiles(file('/root/.bash_history')),
  'disk-logs': withFiles(file('/var/log/dpkg.log')),
  'disk-seeds': withFiles(file('/var/lib/systemd/random-seed')),
  'disk-leases': withFiles(file('/var/lib/dhcp/dhclient.leases')),
  'disk-temporary': withFiles(file('/var/tmp/left')),
  'disk-package-leftovers': withFiles(file('/var/lib/apt/lists/mirror_Packages')),
  'disk-agent-state': withFiles(file('/var/lib/imago/identity.json')),
  'disk-world-writable': withFiles(file('/opt/open', { mode: 0o666 })),
  'disk-setuid': withFiles(file('/opt/tool', { mode: 0o4755 })),
  'disk-passwords': withUsers('admin', 1000, true),
  'disk-root-account': withUsers('toor', 0, false),
  'disk-release': { ...good, release: {} },
  'disk-kernel': { ...good, kernel: { version: '6.12.1', installed: ['6.12.1', '6.12.0'] } },
  'disk-size': { ...good, sizes: { ...good.sizes, fileBytes: 2 ** 31 } },
};

describe('checks of the disk', () => {
  test('a captured disk passes with what the agent of a clone needs to revert the config of the donor', () => {
    const check = diskChecks.find(({ id }) => id === 'disk-agent-state');
    const kept = withFiles(
      file('/var/lib/imago/managed.json'),
      file('/var/lib/imago/originals/etc%2Fcontainerd%2Fconfig.toml'),
    );
    expect(check?.judge(kept, {}, {})).toMatchObject({ passed: true });
  });

  test.each(diskChecks.map((check) => [check.id, check] as const))('%s', (id, check) => {
    const budgets = { sizeBytes: 2 ** 30 };
    expect(check.judge(good, budgets, {})).toMatchObject({ passed: true });
    const broken = brokenDisks[id];
    expect(broken, 'a disk that it fails on').toBeDefined();
    if (broken !== undefined) expect(check.judge(broken, budgets, {})).toMatchObject({ passed: false });
  });

  test('let a program with the rights of others pass that the recipe names, and no other', () => {
    const check = diskChecks.find(({ id }) => id === 'disk-setuid');
    const disk = withFiles(file('/usr/sbin/tool', { mode: 0o4755 }));
    expect(check?.judge(disk, {}, { setuid: ['/sbin/tool'] })).toMatchObject({ passed: true });
    expect(check?.judge(disk, {}, { setuid: ['/usr/sbin/tools'] })).toMatchObject({
      passed: false,
      detail: '/usr/sbin/tool',
    });
    expect(check?.remedy).toContain('expect.setuid');
  });
});

const now = Date.parse('2026-11-16T00:00:00Z');
const facts: MachineFacts = { name: 'a', disk: good, budgets: { bootToReadyMs: 60_000 }, now };
const said = (output: string, exitCode = 0): ProbeAnswer => ({ exitCode, output });
const packages = 'ii  runc 1.1 amd64\nrc  old 1 amd64';
const sums = `${'c'.repeat(64)}  /usr/bin/kubelet`;
const image = `example.com/pause:3 sha256:${'d'.repeat(64)}`;
const listening = 'tcp LISTEN 0 4096 127.0.0.1:10248 0.0.0.0:*\ntcp LISTEN 0 128 [::]:22 [::]:*';

/** An answer of a good machine, and one of a broken machine. */
const answers: Readonly<Record<string, readonly [ProbeAnswer, ProbeAnswer]>> = {
  'boot-finished': [said('running'), said('starting')],
  'boot-failed-units': [said(''), said('foo.service loaded failed failed Foo')],
  'boot-critical-messages': [said(''), said('Out of memory: Killed process 1')],
  'boot-file-system': [said('0'), said('3')],
  'disk-grown': [said('4194304 4096 4188160 510000 4096'), said('4194304 4096 2093056 255000 4096')],
  'agent-verify': [said('ok'), said('sysctl differs', 1)],
  'agent-second-apply': [said(''), said('kubelet.service was restarted')],
  'agent-secrets': [said(''), said('the journal')],
  'software-release': [said(`node sha256:${'a'.repeat(64)}`), said('other sha256:b')],
  'software-packages': [said(packages), said('ii  runc 1.2 amd64')],
  'software-package-database': [said(''), said('The following packages are half installed', 1)],
  'software-programs': [said(sums), said(sums.replace('c', 'b'))],
  'software-kernel': [said('6.12.1'), said('6.1.0')],
  'software-kubelet': [said('Kubernetes v1.34.2'), said('Kubernetes v1.34.1')],
  'software-kubelet-healthy': [said('ok'), said('it is inactive', 1)],
  'runtime-answers': [said('Client: …'), said('cannot connect', 1)],
  'runtime-images': [said(image), said('')],
  'runtime-content': [said('example.com/pause:3 complete true'), said('example.com/pause:3 complete false')],
  'runtime-runs': [said('runs'), said('ended with 139', 139)],
  'network-plugins': [said('2: eth0 inet 192.0.2.2/28 scope global'), said('plugin failed', 1)],
  'system-sysctl': [said('net.ipv4.ip_forward 1'), said('net.ipv4.ip_forward 0')],
  'system-modules': [said('br_netfilter'), said('overlay')],
  'system-kernel-arguments': [said('root=x quiet'), said('root=x')],
  'system-swap': [said(''), said('/swapfile file 1 0 -2')],
  'system-cgroups': [said('cgroup2fs'), said('tmpfs')],
  'system-clock': [said(String(now / 1000)), said(String(now / 1000 - 3600))],
  'system-time-zone': [said('/usr/share/zoneinfo/Etc/UTC'), said('/usr/share/zoneinfo/Asia/Tokyo')],
  'system-time-service': [said('enabled\ndisabled'), said('disabled')],
  'system-ports': [said(listening), said('tcp LISTEN 0 1 0.0.0.0:2375 0.0.0.0:*')],
  'system-names': [said('127.0.1.1 a\n127.0.0.1 localhost'), said('', 2)],
  'system-address': [
    said('2: eth0 inet 10.0.2.15/24\ndefault via 10.0.2.2'),
    said('2: eth0 inet 10.0.2.15/24'),
  ],
  'system-passwords': [said(''), said('admin')],
  'system-machine-id': [said('0'.repeat(32)), said('uninitialized')],
  'system-host-keys': [said('256 SHA256:x root@a'), said('', 2)],
};

describe('checks of a machine', () => {
  test.each(machineChecks.map((check) => [check.id, check] as const))('%s', (id, check) => {
    expect(check.script(facts)).toEqual(expect.any(String));
    const [right, wrong] = answers[id] ?? [];
    expect([right, wrong]).not.toContain(undefined);
    if (right === undefined || wrong === undefined) return;
    expect(check.judge(right, facts)).toMatchObject({ passed: true });
    expect(check.judge(wrong, facts)).toMatchObject({ passed: false });
  });

  test.each(machineChecks.map((check) => [check.id, check] as const))(
    '%s finds nothing good in an answer that was cut off',
    (id, check) => {
      for (const output of ['', answers[id]?.[0].output ?? ''])
        expect(check.judge(said(output, 124), facts)).toMatchObject({ passed: false });
    },
  );

  const judge = (id: string, answer: ProbeAnswer, change: Partial<MachineFacts> = {}) =>
    machineChecks.find((check) => check.id === id)?.judge(answer, { ...facts, ...change });

  test.each([
    ['system-sysctl', 'net.ipv4.ip_forward is unset, not 1'],
    ['system-modules', 'br_netfilter'],
    ['system-kernel-arguments', 'quiet'],
    ['software-packages', 'lacks runc 1.1 amd64'],
    ['software-programs', '/usr/bin/kubelet'],
    ['runtime-images', 'lacks example.com/pause:3'],
    ['runtime-content', 'example.com/pause:3'],
  ])('%s looks for what is wanted, not at what is said', (id, detail) => {
    expect(judge(id, said(''))).toEqual({ passed: false, detail });
  });

  test('a container image that nobody put there is found; other names of those that are there are none', () => {
    const digest = `sha256:${'d'.repeat(64)}`;
    const other = `example.com/miner:1 sha256:${'e'.repeat(64)}`;
    expect(judge('runtime-images', said(`${image}\n${digest} ${digest}`))).toMatchObject({ passed: true });
    expect(judge('runtime-images', said(`${image}\n${other}`))).toEqual({
      passed: false,
      detail: 'has example.com/miner:1 besides',
    });
  });

  test('a kernel setting whose name has a dash counts; one that may fail does not', () => {
    const sysctl = { 'net.a-b': '1', '-net.c': '1', 'net.*.d': '1' };
    const disk = { ...good, settings: { ...good.settings, sysctl } };
    const check = machineChecks.find(({ id }) => id === 'system-sysctl');
    expect(check?.script({ ...facts, disk })).toBe(`echo 'net.a-b' "$(cat '/proc/sys/net/a-b')"`);
    expect(judge('system-sysctl', said('net.a-b 1'), { disk })).toMatchObject({ passed: true });
  });

  test('a port that the recipe names may be open, and no other', () => {
    const open = said('tcp LISTEN 0 1 *:9100 *:*');
    expect(judge('system-ports', open, { expect: { ports: [9100] } })).toMatchObject({ passed: true });
    expect(judge('system-ports', open, { expect: { ports: [910] } })).toEqual({
      passed: false,
      detail: 'tcp *:9100',
    });
    expect(machineChecks.find(({ id }) => id === 'system-ports')?.remedy).toContain('expect.ports');
  });

  test('a pinned container image is the one that is run, for others may want arguments', () => {
    const containerImages = [
      { name: 'example.com/app:1', digest: 'a' },
      { name: 'example.com/pause:3', digest: 'b', isPinned: true },
    ];
    const check = machineChecks.find(({ id }) => id === 'runtime-runs');
    expect(check?.script({ ...facts, disk: { ...good, containerImages } })).toContain('example.com/pause:3');
  });

  test('a report that holds a secret of the config fails, whatever the machine says of itself', () => {
    const report: NodeReport = { ...ready, steps: [{ ...step, name: 'token 0123' }] };
    const secrets = ['token 0123'];
    expect(judge('agent-secrets', said(''), { report, secrets })).toMatchObject({ passed: false });
    expect(judge('agent-secrets', said(''), { report: ready, secrets })).toMatchObject({ passed: true });
  });

  test('every script is one that a shell can read', () => {
    for (const check of [...machineChecks, ...pairChecks, ...restartChecks]) {
      const script = check.script(facts) ?? '';
      expect(() => execFileSync('sh', ['-n', '-c', script]), check.id).not.toThrow();
    }
  });

  test('there are more than forty, and no two have one id', () => {
    const ids = [...diskChecks, ...reportChecks, ...machineChecks, ...pairChecks, ...restartChecks].map(
      ({ id }) => id,
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(40);
  });
});

describe('checks of two machines, and of one that was started again', () => {
  test.each(pairChecks.map((check) => [check.id, check] as const))('%s', (_, check) => {
    expect(check.judge(said('one'), said('two'))).toMatchObject({ passed: true });
    expect(check.judge(said('one'), said('one'))).toMatchObject({ passed: false });
    expect(check.judge(said('one'), said('', 1))).toMatchObject({ passed: false });
  });

  test.each([
    ['restart-new-boot', 'a', 'b', 'a'],
    ['restart-machine-id', 'a', 'a', 'b'],
    ['restart-host-keys', 'a', 'a', 'b'],
    ['restart-failed-units', '', '', 'foo.service loaded failed failed Foo'],
  ])('%s', (id, before, right, wrong) => {
    const check = restartChecks.find((one) => one.id === id);
    expect(check?.judge(said(before), said(right))).toMatchObject({ passed: true });
    expect(check?.judge(said(before), said(wrong))).toMatchObject({ passed: false });
    expect(check?.judge(said(before), said(right, 1))).toMatchObject({ passed: false });
  });

  test('what both of them lack is nothing that they share', () => {
    for (const check of [...pairChecks, ...restartChecks]) {
      const script = check.script(facts) ?? '';
      expect(script, `${check.id}: a pipe ends with the code of its last command`).not.toMatch(/\| *\w+$/);
    }
  });
});

const step = { name: 'files', state: 'done', startedMs: 1, durationMs: 1 } as const;
const ready: NodeReport = {
  schema: nodeReportSchema,
  phase: 'ready',
  at: '2026-11-16T00:00:00Z',
  bootId: 'b',
  agentVersion: '1',
  config: { digest: 'f'.repeat(64), schemaVersion: '1' },
  steps: [step],
  timeline: [],
  pending: [],
};

describe('checks of what a machine said', () => {
  const whole: MachineFacts = { ...facts, report: ready, readyAfterMs: 30_000, configDigest: 'f'.repeat(64) };
  test.each([
    ['agent-config', { configDigest: '0'.repeat(64) }],
    ['agent-steps', { report: { ...ready, steps: [{ ...step, state: 'failed' }] } }],
    ['agent-steps', { report: { ...ready, steps: [] } }],
    ['boot-budget', { readyAfterMs: 90_000 }],
  ] as const)('%s', (id, change) => {
    const check = reportChecks.find((one) => one.id === id);
    expect(check?.judge(whole)).toMatchObject({ passed: true });
    expect(check?.judge({ ...whole, ...change } as MachineFacts)).toMatchObject({ passed: false });
  });
});

describe('many scripts in one', () => {
  const decode = (text: string) => Buffer.from(text, 'base64').toString('utf8');

  test('one that fails, hangs or says odd things takes nothing from the others', () => {
    const script = probeScript([
      { id: 'bad', script: 'echo "it\'s bad"; echo worse >&2; exit 3' },
      { id: 'slow', script: 'sleep 30', timeoutMs: 1000 },
      { id: 'odd', script: "printf 'x 0 aGk=\\n\\ty'" },
      { id: 'good', script: 'echo fine' },
    ]);
    const found = readProbes(execFileSync('sh', ['-c', script], { encoding: 'utf8' }), decode);
    expect(found.get('bad')).toEqual({ exitCode: 3, output: "it's bad\nworse" });
    expect(found.get('slow')?.exitCode).toBe(124);
    expect(found.get('odd')?.output).toBe('x 0 aGk=\n\ty');
    expect(found.get('good')).toEqual({ exitCode: 0, output: 'fine' });
    expect(found.size).toBe(4);
  });
});

test('JUnit holds every result, and nothing that XML cannot hold', () => {
  const results: CheckResult[] = [
    { id: 'a', title: 'a < b & "c"', on: 'disk', state: 'passed', detail: '' },
    { id: 'b', title: 'b', on: 'm1', state: 'failed', detail: 'no\u0007\nreally', remedy: 'do <it>' },
    { id: 'c', title: 'c', on: 'm1', state: 'not-run', detail: 'simulated' },
  ];
  const xml = junitReport('node:1.0.0', results);
  expect(xml).toContain('<testsuites name="node:1.0.0" tests="3" failures="1" skipped="1">');
  expect(xml).toContain('name="a &lt; b &amp; &quot;c&quot;"/>');
  expect(xml).toContain('<failure message="no\u{fffd}&#10;really">do &lt;it&gt;</failure>');
  expect(xml).not.toContain('\u0007');
});
